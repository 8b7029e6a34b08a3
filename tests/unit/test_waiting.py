"""What engines of a core wait for one another: closed forms against figures worked out by hand, and simulated ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from archsim.lab.run.job import Job
from archsim.lab.what_if.gap import mapping_gap
from mapper.cost.waiting import starved


class _Plan(NamedTuple):
    name: str
    slots: int


INNER, OUTER = _Plan("a", 2), _Plan("b", 2)


def _work(period: float, tiles: int, last: float) -> Any:
    return SimpleNamespace(
        array_total=np.asarray(period * tiles), vector_total=np.zeros(()), array_last=np.asarray(last),
        vector_last=np.zeros(()),
    )  # fmt: skip


def _waits(done: Any, inner: float, outer: float, *, tiles: int = 40, turns: int = 8) -> float:
    """Where ``tiles`` inner tiles of ``inner`` cycles and ``turns`` outer ones of ``outer`` share a queue."""
    moved: Any = {
        "a": SimpleNamespace(moves=np.asarray(float(tiles))),
        "b": SimpleNamespace(moves=np.asarray(float(turns))),
    }
    queue: Any = {INNER: np.asarray(inner * tiles), OUTER: np.asarray(outer * turns)}
    return float(starved(done, moved, [queue]))


def test_an_outer_tile_that_takes_longer_than_what_waits_in_slots_is_waited_for() -> None:
    """Tiles of 600 cycles, the last one whole: when the outer tile (1,000) is asked for, one tile waits and one is at
    work, less the 200 that the last one came in; then comes an inner tile (200) before work can go on."""
    assert _waits(_work(600, 40, 600), 200, 1000) == pytest.approx(7 * (1000 + 200 - (1200 - 200)))


def test_an_outer_tile_that_comes_in_meanwhile_is_not_waited_for() -> None:
    assert _waits(_work(600, 40, 600), 200, 700) == 0


def test_a_small_last_tile_leaves_less_time() -> None:
    """Half a tile: 300 cycles of work, and 100 to come in."""
    assert _waits(_work(600, 40, 300), 200, 1000) == pytest.approx(7 * (1000 + 200 - (900 - 100)))


def test_tiles_of_two_outer_loops_come_together_where_both_begin_anew() -> None:
    """Of three operands: 4 tiles of the outermost loop (2,000 cycles), 8 of the one between (100), 40 inner ones (200).
    Three times both stand between inner tiles, four times the one between alone, which comes in meanwhile."""
    moved: Any = {name: SimpleNamespace(moves=np.asarray(float(n))) for name, n in (("a", 40), ("b", 8), ("c", 4))}
    queue: Any = {
        INNER: np.asarray(200.0 * 40), OUTER: np.asarray(100.0 * 8), _Plan("c", 2): np.asarray(2000.0 * 4)
    }  # fmt: skip
    waits = float(starved(_work(600, 40, 600), moved, [queue]))
    assert waits == pytest.approx(3 * (2100 + 400 - 1200))


def test_a_queue_of_one_operand_has_nobody_to_wait_for() -> None:
    moved: Any = {"a": SimpleNamespace(moves=np.asarray(40.0))}
    queue: Any = {INNER: np.asarray(8000.0)}
    assert float(starved(_work(600, 40, 600), moved, [queue])) == 0


@pytest.mark.parametrize("model", ["squeezenet", "bert_base_block"])
def test_most_layers_of_a_chip_with_one_queue_take_what_is_expected(model: str) -> None:
    """A memory that serves one transfer after the other, for all operands: weights stand before inputs, and results
    behind both."""
    found = mapping_gap(Job(model, "nvdla_large", values={"dram.bandwidth": "40 GB/s"}))
    large = [row for row in found.layers if row.alone_cycles >= 10_000]
    off = sorted(abs(row.off) / row.alone_cycles for row in large)
    assert len(large) > 8 and off[len(off) // 2] <= 0.01


@pytest.mark.parametrize("model", ["squeezenet", "bert_base_block"])
def test_layers_of_a_chip_with_one_queue_take_together_what_is_expected(model: str) -> None:
    """The same of their sum."""
    found = mapping_gap(Job(model, "nvdla_large", values={"dram.bandwidth": "40 GB/s"}))
    large = [row for row in found.layers if row.alone_cycles >= 10_000]
    assert sum(row.alone_cycles for row in large) == pytest.approx(
        sum(row.expected_alone_cycles for row in large), rel=0.01
    )
