"""Time laws: clock domains, edges, and the independence of results from how the clocks are stated."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.ir.activity import Activity, edge_ps, to_cycles
from archsim.ir.program import Command, CommandLoop, Program, Semaphore
from archsim.sim.attribution import attribute
from archsim.sim.critical import critical_cycles, critical_path
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory
from archsim.system import simulate
from tests.laws.builders import (
    ARRAY,
    GHZ,
    LOAD,
    STORE,
    VECTOR,
    chip,
    constant_dram,
    host,
    matmul,
    move,
    pipeline,
    program,
    queue,
    ring,
    scratchpad,
    tensor,
    tokens,
    vector,
)

EXACT = settings(max_examples=50, deadline=None, derandomize=True)
HERTZ = st.sampled_from(
    [200_000_000, 333_333_333, 700_000_000, 940_000_000, GHZ, 1_370_000_000, 3 * GHZ, 6_400_000_000]
)
sizes = st.integers(1, 60)


def on_chip(tiles: int, load: int, rows: int, drain: int, slots: int) -> Program:
    """Scratchpad to scratchpad, array, vector unit, and back: every engine but the host, no DRAM."""
    return program(
        queue(
            LOAD,
            CommandLoop(
                "i", tiles, (move("load", "x", "in", load, waits=tokens("in.free"), signals=tokens("in.full")),)
            ),
        ),
        queue(
            ARRAY,
            CommandLoop(
                "j",
                tiles,
                (
                    matmul(
                        "mm",
                        "in",
                        "in",
                        "acc",
                        (rows, 3, 5),
                        waits=tokens("in.full", "acc.free"),
                        signals=tokens("in.free", "acc.full"),
                    ),
                ),
            ),
        ),
        queue(
            VECTOR,
            CommandLoop(
                "k",
                tiles,
                (
                    vector(
                        "drain",
                        "acc",
                        "out",
                        drain,
                        waits=tokens("acc.full", "out.free"),
                        signals=tokens("acc.free", "out.full"),
                    ),
                ),
            ),
        ),
        queue(
            STORE,
            CommandLoop(
                "l", tiles, (move("store", "out", "y", drain, waits=tokens("out.full"), signals=tokens("out.free")),)
            ),
        ),
        tensors=(tensor("x", "l2"), tensor("y", "l2", base=2**20)),
        rings=(
            ring("in", slots, LOAD, ARRAY),
            ring("acc", slots, ARRAY, VECTOR, base=2**14),
            ring("out", slots, VECTOR, STORE, base=2**16),
        ),
    )


def pads(clock_hz: int = GHZ, narrow: int = 3) -> list[Memory]:
    """A narrow outer and an inner memory, both short of bandwidth."""
    return [
        scratchpad("l2", narrow, clock_hz=clock_hz),
        scratchpad("l1", 7, clock_hz=clock_hz),
    ]


def timeline(activity: Activity, unit_ps: int = 1) -> list[tuple[object, ...]]:
    """Everything that happened, in units of ``unit_ps``."""
    return [
        (
            r.unit,
            r.index,
            Fraction(r.head_ps, unit_ps),
            Fraction(r.start_ps, unit_ps),
            Fraction(r.end_ps, unit_ps),
            r.critical,
        )
        for records in activity.records.values()
        for r in records
    ]


def check_sums(activity: Activity) -> None:
    """Every unit's row and the critical path account for each cycle of the run once."""
    cube = attribute(activity)
    assert set(cube.rows) == set(activity.records)
    assert all(sum(row.values()) == cube.cycles_total for row in cube.rows.values())
    critical = critical_cycles(critical_path(activity), activity.clock_hz)
    assert sum(sum(causes.values()) for causes in critical.values()) == cube.cycles_total


@EXACT
@given(st.integers(1, 6), sizes, sizes, sizes, st.integers(1, 3), HERTZ)
def test_law_32_equal_clocks_are_one_domain(
    tiles: int, load: int, rows: int, drain: int, slots: int, clock_hz: int
) -> None:
    """Law 32: parts that state the same clock, with or without sync stages, are bit-identical to one domain."""
    text = on_chip(tiles, load, rows, drain, slots)
    one = chip(pads(clock_hz), clock_hz=clock_hz)
    stated = chip(
        pads(clock_hz),
        clock_hz=clock_hz // 3 * 2,
        clocks={"dma": clock_hz, "array": clock_hz, "vector": clock_hz},
    )
    assert simulate(text, one) == replace(simulate(text, stated), clock_hz=clock_hz)


@EXACT
@given(
    st.integers(1, 6),
    sizes,
    sizes,
    sizes,
    st.integers(1, 3),
    st.sampled_from([1, 2, 4, 5, 8, 10, 20]),
    st.tuples(*[st.sampled_from([1, 2, 5, 10])] * 3),
    st.integers(0, 3),
)
def test_law_32_all_clocks_times_k(
    tiles: int, load: int, rows: int, drain: int, slots: int, k: int, slower: tuple[int, int, int], stages: int
) -> None:
    """Law 32: clocks of whole picoseconds, all times k, no DRAM: the same cycles, seconds / k."""
    text = on_chip(tiles, load, rows, drain, slots)

    def machine(clock_hz: int) -> Architecture:
        clocks = {kind: clock_hz // divisor for kind, divisor in zip(("dma", "array", "vector"), slower, strict=True)}
        return chip(pads(clock_hz), clock_hz=clock_hz, clocks=clocks, sync_stages=stages)

    base_hz = 100_000_000
    slow, fast = simulate(text, machine(base_hz)), simulate(text, machine(k * base_hz))
    assert timeline(slow, k) == timeline(fast)
    assert to_cycles(slow.total_ps, base_hz) == to_cycles(fast.total_ps, k * base_hz)
    assert slow.counts == fast.counts


@EXACT
@given(st.integers(1, 6), sizes, sizes, sizes, st.integers(1, 3), HERTZ, HERTZ, HERTZ, st.integers(0, 3), st.booleans())
def test_law_33_starts_and_ends_are_edges(
    tiles: int, load: int, rows: int, drain: int, slots: int, dma: int, array: int, vpu: int, stages: int, dram: bool
) -> None:
    """Law 33: every start and end is an edge of the engine's clock; phases and cycle boundaries sum exactly."""
    text = on_chip(tiles, load, rows, drain, slots)
    outer = constant_dram("l2", Fraction(7, 3), clock_hz=933_000_000, latency_cycles=5) if dram else pads()[0]
    clocks = {"dma": dma, "array": array, "vector": vpu}
    activity = simulate(text, chip([outer, pads()[1]], clocks=clocks, sync_stages=stages))
    hertz = {LOAD: dma, STORE: dma, ARRAY: array, VECTOR: vpu}
    for unit, records in activity.records.items():
        free = 0
        for record in records:
            assert record.head_ps == free <= record.start_ps <= record.end_ps
            for instant in (record.start_ps, record.end_ps):
                assert edge_ps(to_cycles(instant, hertz[unit]), hertz[unit]) == instant
            until = [record.start_ps, *(phase[1] for phase in record.phases)]
            assert until == sorted(set(until)) and until[-1] == record.end_ps
            free = record.end_ps
        bounds = [0, *(instant for r in records for instant in (r.start_ps, r.end_ps)), activity.total_ps]
        marks = [to_cycles(instant, activity.clock_hz) for instant in bounds]
        parts = [later - earlier for earlier, later in zip(marks, marks[1:], strict=False)]
        assert min(parts) >= 0 and sum(parts) == to_cycles(activity.total_ps, activity.clock_hz)
    check_sums(activity)


@EXACT
@given(st.integers(2, 5), sizes, sizes, HERTZ, HERTZ, st.integers(0, 3))
def test_a_crossing_is_seen_strictly_later(
    tiles: int, load: int, compute: int, dma: int, vpu: int, stages: int
) -> None:
    """A token from another clock is seen at the receiver's first edge strictly after, plus its sync stages."""
    text = pipeline(tiles, load, compute, 1)
    activity = simulate(text, chip(clocks={"dma": dma, "vector": vpu}, sync_stages=stages))
    for record in activity.records[VECTOR]:
        given_ps = activity.records[LOAD][record.index].end_ps
        seen_ps = given_ps if dma == vpu else edge_ps(to_cycles(given_ps + 1, vpu) + stages, vpu)
        assert record.start_ps >= seen_ps
        if record.critical == (LOAD, record.index):
            assert record.start_ps == seen_ps > record.head_ps
    assert activity.records[VECTOR][0].critical == (LOAD, 0)


def test_the_start_takes_the_later_of_two_waits() -> None:
    """The critical command is the giver of the token that came last; ties go to the lowest (unit, index)."""
    both = vector("use", "a", "a", 1, waits=tokens("a.full", "b.full"), signals=tokens("a.free", "b.free"), writes=())
    for a, b, expected in ((5, 9, "core[0].store"), (9, 5, "core[0].load"), (7, 7, "core[0].load")):
        text = program(
            queue(LOAD, move("load_a", "x", "a", a, waits=tokens("a.free"), signals=tokens("a.full"))),
            queue(STORE, move("load_b", "y", "b", b, waits=tokens("b.free"), signals=tokens("b.full"))),
            queue(VECTOR, both),
            tensors=(tensor("x", "din"), tensor("y", "dout")),
            rings=(ring("a", 1, LOAD, VECTOR), ring("b", 1, STORE, VECTOR, base=2**16)),
        )
        record = simulate(text, chip()).records[VECTOR][0]
        assert record.critical == (expected, 0)
        assert record.start_ps == 1000 * max(a, b)


@EXACT
@given(st.integers(1, 5), st.integers(0, 9), st.integers(1, 3), st.integers(0, 9), sizes, HERTZ)
def test_launches_that_overlap_are_accounted_once(
    kernels: int, launch: int, depth: int, issue: int, load: int, clock_hz: int
) -> None:
    """Law 33 with a host: its records do not overlap, however its launches do."""
    kernel = Command("kernel", "HOST", "one", flops=3, nbytes=5, signals=tokens("go"))
    text = program(
        queue("host", CommandLoop("i", kernels, (kernel,))),
        queue(
            LOAD, CommandLoop("j", kernels, (move("load", "x", "t", load, waits=tokens("go"), signals=tokens("back")),))
        ),
        queue(VECTOR, *[vector("use", "t", "t", load, waits=tokens("back"))] * kernels),
        tensors=(tensor("x", "din"), tensor("t", "l1")),
        semaphores=(Semaphore("go"), Semaphore("back")),
    )
    runtime = host(launch * 1000, depth, issue * 1000)
    activity = simulate(text, chip(clocks={"vector": clock_hz}, host=runtime))
    records = activity.records["host"]
    assert all(earlier.end_ps == later.head_ps for earlier, later in zip(records, records[1:], strict=False))
    check_sums(activity)
