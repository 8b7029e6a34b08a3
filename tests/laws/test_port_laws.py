"""Laws of shared ports (fair rates, stretch) and of monotony with private resources."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.ir.program import Program
from archsim.sim.attribution import attribute
from archsim.sim.critical import critical_path
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from tests.laws.builders import (
    CYCLE,
    LOAD,
    STORE,
    VECTOR,
    chip,
    constant_dram,
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
PORT = 4  # bytes per cycle


def two_streams(first: int, second: int, delay: int) -> Program:
    """Both DMA engines move onto ``l1``'s write port, each as fast as it goes; the second begins ``delay`` later."""
    start = () if delay == 0 else (move("wait", "slow", "fast", delay),)
    return program(
        queue(LOAD, move("first", "fast", "target", first * PORT)),
        queue(STORE, *start, move("second", "fast", "target", second * PORT)),
        tensors=(tensor("fast", "wide"), tensor("slow", "din"), tensor("target", "l1")),
    )


SHARED = chip([constant_dram("din"), scratchpad("wide"), scratchpad("l1", PORT)])


@EXACT
@given(st.integers(1, 60), st.data())
def test_law_25_two_equal_streams(length: int, data: st.DataObject) -> None:
    """Law 25: both take 2x while overlapped; the stretch is sram_port."""
    delay = data.draw(st.integers(0, length - 1))
    records = simulate(two_streams(length, length, delay), SHARED).records
    first, second = records[LOAD][0], records[STORE][-1]
    overlapped = length - delay
    assert second.start_ps == delay * CYCLE
    assert first.end_ps == (length + overlapped) * CYCLE
    assert second.end_ps == (delay + length + overlapped) * CYCLE


@EXACT
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 30))
def test_law_25_unequal_streams(first: int, second: int, delay: int) -> None:
    """Law 25: the port is never idle while someone wants it, and nobody gets more than half of a shared one."""
    records = simulate(two_streams(first, second, delay), SHARED).records
    one, two = records[LOAD][0], records[STORE][-1]
    overlap = max(0, min(one.end_ps, two.end_ps) - max(one.start_ps, two.start_ps)) // CYCLE
    if delay < first:
        assert overlap == 2 * min(first - delay, second)
        assert max(one.end_ps, two.end_ps) == (first + second) * CYCLE
    assert one.end_ps - one.start_ps == (first + overlap // 2) * CYCLE
    assert two.end_ps - two.start_ps == (second + overlap // 2) * CYCLE


def test_law_25_the_stretch_of_a_compute_command_is_sram_port() -> None:
    """A vector command that shares a read port is stretched at its end; the cause is named."""
    text = program(
        queue(VECTOR, vector("compute", "x", "y", 16)),
        queue(STORE, move("store", "x", "z", 16)),
        tensors=(tensor("x", "l1"), tensor("y", "wide"), tensor("z", "wide", base=2**20)),
    )
    activity = simulate(text, chip([scratchpad("wide"), scratchpad("l1", 1)]))
    assert activity.records[VECTOR][0].phases == (("busy", 16_000), ("sram_port", 32_000))
    assert activity.records[STORE][0].phases == (("noc", 16_000), ("sram_port", 32_000))
    alone = simulate(replace(text, queues=text.queues[:1]), chip([scratchpad("wide"), scratchpad("l1", 1)]))
    assert alone.records[VECTOR][0].phases == (("busy", 16_000),)


@EXACT
@given(st.integers(1, 8), st.integers(1, 30), st.integers(1, 30), st.integers(1, 30), st.integers(0, 5))
def test_law_35_moves_that_share_no_port_are_no_waits_for_ports(
    tiles: int, load: int, compute: int, store: int, setup: int
) -> None:
    """Law 35: of moves between memories on chip that have their ports alone nothing is sram_port; it all sums."""
    on = chip([scratchpad("din", 1), scratchpad("dout", 1), scratchpad("l1")], dma={"setup_cycles": setup})
    activity = simulate(pipeline(tiles, load, compute, store), on)
    for unit in (LOAD, STORE):
        assert all(record.phases == (("noc", record.end_ps),) for record in activity.records[unit])
    rows = attribute(activity).time_breakdown()
    assert [row["stall_sram_port"] for row in rows.values()] == [0] * len(rows)
    assert rows[VECTOR]["stall_noc"] >= setup + load
    assert {sum(row.values()) for row in rows.values()} == {activity.total_ps // CYCLE}
    assert {segment.cause for segment in critical_path(activity)} <= {"noc", "compute"}


def irregular(tiles: list[tuple[int, int, int]], slots_in: int, slots_out: int) -> Program:
    """A pipeline whose tiles differ."""
    loads, computes, stores = zip(*tiles, strict=True)
    return program(
        queue(LOAD, *(move("load", "x", "in", n, waits=tokens("in.free"), signals=tokens("in.full")) for n in loads)),
        queue(
            VECTOR,
            *(
                vector(
                    "compute",
                    "in",
                    "out",
                    n,
                    waits=tokens("in.full", "out.free"),
                    signals=tokens("in.free", "out.full"),
                )
                for n in computes
            ),
        ),
        queue(
            STORE, *(move("store", "out", "y", n, waits=tokens("out.full"), signals=tokens("out.free")) for n in stores)
        ),
        tensors=(tensor("x", "din"), tensor("y", "dout")),
        rings=(ring("in", slots_in, LOAD, VECTOR), ring("out", slots_out, VECTOR, STORE, base=2**16)),
    )


rates = st.fractions(Fraction(1, 4), 8, max_denominator=7)
extra = st.fractions(0, 4, max_denominator=5)
lengths = st.integers(1, 50)


def machine(rate_in: Fraction, rate_out: Fraction, lanes: int, width: int) -> Architecture:
    """Private ports: one DRAM each way, a scratchpad whose two ports serve one engine per direction at most fully."""
    memories = [constant_dram("din", rate_in), constant_dram("dout", rate_out), scratchpad("l1", width)]
    return chip(memories, vector={"lanes": {"int8": lanes}})


@EXACT
@given(
    st.lists(st.tuples(lengths, lengths, lengths), min_size=1, max_size=8),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.tuples(rates, rates, st.integers(1, 4)),
    st.tuples(extra, extra, st.integers(0, 4), st.integers(0, 64)),
)
def test_law_46_more_is_never_slower(
    tiles: list[tuple[int, int, int]],
    slots: tuple[int, int],
    more_slots: tuple[int, int],
    base: tuple[Fraction, Fraction, int],
    more: tuple[Fraction, Fraction, int, int],
) -> None:
    """Law 46: more bandwidth, lanes, ports or slots, with private resources: never slower, exactly."""
    rate_in, rate_out, lanes = base
    small = machine(rate_in, rate_out, lanes, 64)
    large = machine(rate_in + more[0], rate_out + more[1], lanes + more[2], 64 + more[3])
    few = simulate(irregular(tiles, *slots), small)
    many = simulate(irregular(tiles, slots[0] + more_slots[0], slots[1] + more_slots[1]), large)
    assert many.total_ps <= few.total_ps
    assert all(
        later.end_ps <= earlier.end_ps
        for unit, records in few.records.items()
        for later, earlier in zip(many.records[unit], records, strict=True)
    )
