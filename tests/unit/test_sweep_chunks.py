"""How tasks go out in chunks, and who is blamed for the death of a worker."""

from __future__ import annotations

import pytest

from archsim.lab.sweep.chunks import AHEAD, LONG_S, MOST, TaskChunk, TaskChunks, WorkerHand
from archsim.lab.sweep.form import SweepModel
from archsim.lab.sweep.worker import FAILED, OK, SweepRow, SweepTask


def task(point: int, model: str = "m") -> SweepTask:
    return SweepTask(f"k{point}", point, SweepModel(model), "c", {}, "fast")


def points(chunk: TaskChunk | None) -> list[int]:
    return [] if chunk is None else [task.point for task in chunk.tasks]


def learnt(chunks: TaskChunks, seconds: float, model: str = "m") -> None:
    chunks.pace.learn(SweepRow(task(0, model), OK, seconds=seconds))


def test_chunks_grow_to_a_second_of_work() -> None:
    chunks = TaskChunks(task(n) for n in range(100))
    assert points(chunks.take(WorkerHand(1))) == [0]
    learnt(chunks, 0.3)
    assert points(chunks.take(WorkerHand(1))) == [1, 2, 3, 4]
    learnt(chunks, 0.1)  # 0.2 s a row
    assert points(chunks.take(WorkerHand(1))) == [5, 6, 7, 8, 9]


def test_a_model_of_which_nothing_is_known_ends_a_chunk() -> None:
    chunks = TaskChunks([task(0), task(1), task(2, "other"), task(3)])
    learnt(chunks, 0.01)
    assert points(chunks.take(WorkerHand(1))) == [0, 1, 2]


def test_chunks_end_where_rows_take_no_time() -> None:
    chunks = TaskChunks(task(n) for n in range(2 * MOST))
    learnt(chunks, 0.0)
    assert len(points(chunks.take(WorkerHand(1)))) == MOST
    assert not chunks.over
    chunks.take(WorkerHand(1))
    assert chunks.over


@pytest.mark.parametrize(("seconds", "most"), [(0.2, AHEAD), (2 * LONG_S, 1)])
def test_a_worker_has_the_next_chunk_unless_one_is_long(seconds: float, most: int) -> None:
    chunks, hand = TaskChunks(task(n) for n in range(1000)), WorkerHand(3)
    learnt(chunks, seconds)
    while chunks.take(hand):
        pass
    assert len(hand.chunks) == 3 * most


def test_what_a_dead_worker_had_begun_is_tried_singly_and_alone() -> None:
    chunks, dead, other = TaskChunks(task(n) for n in range(8)), WorkerHand(1), WorkerHand(1)
    learnt(chunks, 0.5)
    assert [points(chunks.take(dead)), points(chunks.take(dead))] == [[0, 1], [2, 3]]
    assert points(chunks.take(other)) == [4, 5]
    assert chunks.lost(dead, "died") == []
    assert chunks.take(other) is None  # first it finishes what it has
    other.chunks.clear()
    assert points(chunks.take(other)) == [0]
    assert chunks.take(other) is None  # beside nothing else
    assert chunks.lost(other, "died") == []  # it may be innocent of the first death
    assert points(chunks.take(third := WorkerHand(1))) == [1]
    assert points(chunks.take(fourth := WorkerHand(4))) == [0] and chunks.take(fourth) is None
    assert chunks.lost(fourth, "died") == [SweepRow(task(0), FAILED, "died")]
    assert chunks.lost(third, "left", blamed=False) == []
    fresh = WorkerHand(2)
    assert points(chunks.take(fresh)) == [1] and chunks.take(fresh) is None
    fresh.chunks.clear()
    assert [points(chunks.take(fresh)) for _ in range(2)] == [[2, 3], [6, 7]] and chunks.over


def test_a_worker_that_leaves_is_not_blamed() -> None:
    chunks, left = TaskChunks(task(n) for n in range(2)), WorkerHand(1)
    learnt(chunks, 0.5)
    for _ in range(5):
        assert points(chunks.take(left)) == [0, 1] and chunks.over
        assert chunks.lost(left, "left", blamed=False) == [] and not chunks.over
        left = WorkerHand(1)


def test_no_tasks_are_over_at_once() -> None:
    assert TaskChunks([]).over
