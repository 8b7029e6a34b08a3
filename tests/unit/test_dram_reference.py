"""The open_row kernel against the reference implementation of fixtures_dram: equal bit for bit on random traffic."""

from __future__ import annotations

from random import Random

from fixtures_dram import NAMES, Reference, check_constraints
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.memory.dram.controller import Completion, DramController, Transfer
from archsim.memory.dram.timing import DramTiming, edge_ps


def random_timing(rng: Random) -> DramTiming:
    clock_hz = rng.choice([1_200_000_000, 800_000_000, 533_375_000, 10**12, 999_999_937, 7])
    cycles = {name: rng.randint(1, 12) for name in NAMES} | {"faw": rng.randint(1, 50)}
    close = max(cycles["ras"], cycles["rtp"], cycles["cwl"] + cycles["burst"] + cycles["wr"])
    least = close + cycles["rp"] + cycles["rfc"] + 3
    cycles["refi"] = rng.choice([0, rng.randint(least, least + 100)])
    ranks = rng.choice([1, 2])
    return DramTiming(
        standard="random",
        clock_hz=clock_hz,
        channels=rng.randint(1, 5),
        ranks=ranks,
        banks=ranks * rng.choice([1, 2, 4]),
        row_bytes=32 * rng.choice([1, 2, 8]),
        burst_bytes=32,
        capacity_bytes=1 << 20,
        source="random",
        **{f"t_{name}_ps": edge_ps(n, clock_hz) for name, n in cycles.items()},
    )


def random_transfer(rng: Random, number: int) -> Transfer:
    count = rng.choice([0, 0, 1, 2, 5])
    loops = [(rng.randint(1, 2 if count == 5 else 4), rng.randint(-300, 300)) for _ in range(count)]
    if rng.random() < 0.1:
        loops = [(0, 64)]
    return Transfer(
        id=number,
        write=rng.random() < 0.5,
        address=rng.randint(5000, 9000),
        run_bytes=rng.choice([0, rng.randint(0, 100), rng.randint(0, 900)]) // (1 + len(loops)),
        extents=tuple(extent for extent, _ in loops),
        strides=tuple(stride for _, stride in loops),
    )


def random_submissions(rng: Random, timing: DramTiming) -> list[tuple[int, list[Transfer]]]:
    period = edge_ps(100, timing.clock_hz)
    result, at, number = [], 0, 0
    for _ in range(rng.randint(1, 8)):
        at += rng.randint(0, rng.choice([1, period // 5, 20 * period]))
        batch = [random_transfer(rng, number + i) for i in range(rng.randint(1, 4))]
        result.append((at, batch))
        number += len(batch)
    return result


def kernel(dram: DramController, submitted: list[tuple[int, list[Transfer]]], end_ps: int) -> list[Completion]:
    completions: list[Completion] = []
    for at, batch in [*submitted, (end_ps, [])]:
        while found := dram.advance(at):
            completions += found
        dram.submit(at, batch)
    return completions


@given(st.integers(0, 2**64))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_kernel_equals_reference(seed: int) -> None:
    rng = Random(seed)
    timing = random_timing(rng)
    submitted = random_submissions(rng, timing)
    interleave = 32 * rng.choice([1, 1, 2, 8])
    window, turn = rng.choice([(32, 16), (1, 1), (4, 3), (2, 16)])
    dram = DramController(timing, interleave_bytes=interleave, window_bursts=window, turn_bursts=turn)
    reference = Reference(timing, interleave, window, turn)
    expected = reference.run(submitted)
    end_ps = expected[-1].time_ps + edge_ps(3, timing.clock_hz)
    assert kernel(dram, submitted, end_ps) == expected
    check_totals(dram, expected, reference)
    for log in reference.commands.values():
        check_constraints(log, reference.cycles, timing.ranks)


@given(st.integers(0, 2**64))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_submits_at_completions_equal_reference(seed: int) -> None:
    """Each completion is answered at its own instant: no channel may have run beyond it."""
    rng = Random(seed)
    timing = random_timing(rng)
    window, turn = rng.choice([(1, 1), (2, 3), (4, 16)])  # small: few bursts fill the window
    dram = DramController(timing, window_bursts=window, turn_bursts=turn)
    todo = [random_transfer(rng, number) for number in range(20)]
    start = [todo.pop() for _ in range(rng.randint(1, 6))]
    submitted, completions = [(0, start)], []
    dram.submit(0, start)
    while (at := dram.next_event_ps()) is not None:
        found = dram.advance(at + edge_ps(10**6, timing.clock_hz))
        completions += found
        answers = [todo.pop() for _ in found[: len(todo)]]
        if answers:
            dram.submit(found[0].time_ps, answers)
            submitted.append((found[0].time_ps, answers))
    assert completions == Reference(timing, timing.burst_bytes, window, turn).run(submitted)


def check_totals(dram: DramController, expected: list[Completion], reference: Reference) -> None:
    stats = dram.stats
    logs = reference.commands.values()
    assert stats.reads == sum(c.kind == "read" for log in logs for c in log)
    assert stats.writes == sum(c.kind == "write" for log in logs for c in log)
    assert stats.activates == sum(c.kind == "activate" for log in logs for c in log)
    assert stats.read_bytes == sum(c.pin_bytes for c in expected if not c.write)
    assert stats.write_bytes == sum(c.pin_bytes for c in expected if c.write)
    assert stats.useful_read_bytes == sum(c.useful_bytes for c in expected if not c.write)
    assert stats.useful_write_bytes == sum(c.useful_bytes for c in expected if c.write)
    assert stats.row_hits == sum(c.row_hits for c in expected)
    assert stats.row_misses == sum(c.row_misses for c in expected)
    assert stats.row_conflicts == sum(c.row_conflicts for c in expected)
