"""Fair paces of coupled streams, checked against the definition of max-min fairness and a fluid reference."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.memory.chip_ports import ChipPorts
from archsim.memory.memory_port import MemoryPort, PortFlow, PortStreams, UnevenBanks
from archsim.memory.scratchpad import Scratchpads
from archsim.memory.water_level import fair_paces
from archsim.sim.clock import ClockDomain
from archsim.sim.events import EventLoop, ProcessBody
from archsim.sim.protocols import Cycles, Demand
from archsim.spec.memories import PortSet
from tests.laws.builders import scratchpad

EXACT = settings(max_examples=100, deadline=None, derandomize=True)
CLOCK = ClockDomain(10**9)
shares = st.fractions(Fraction(1, 12), 2, max_denominator=12)
demands = st.dictionaries(st.integers(0, 3), shares, min_size=1, max_size=4)


def streams(ports: ChipPorts, cycles: Fraction | int, exact: dict[MemoryPort, Fraction]) -> PortStreams:
    rounded = tuple((port, float(share)) for port, share in exact.items())
    return PortStreams(ports, CLOCK, cycles, (), exact, rounded, ceil(cycles))


def placed(wanted: list[dict[int, Fraction]]) -> tuple[list[MemoryPort], list[PortFlow]]:
    ports = [MemoryPort(f"p{number}", 1) for number in range(4)]
    everything = ChipPorts(EventLoop())
    flows = []
    for number, want in enumerate(wanted):
        flow = PortFlow(number, streams(everything, 1, {ports[port]: share for port, share in want.items()}), 0)
        for port, share in flow.shares:
            port.add(flow, share)
        flows.append(flow)
    return ports, flows


def usage(ports: list[MemoryPort], paces: Mapping[PortFlow, Cycles]) -> dict[MemoryPort, Fraction]:
    return {port: sum((paces[flow] * flow.exact[port] for flow in port.flows), Fraction(0)) for port in ports}


@pytest.mark.slow
@EXACT
@given(st.lists(demands, min_size=1, max_size=6))
def test_no_port_is_overfull_and_none_is_wasted(wanted: list[dict[int, Fraction]]) -> None:
    """No port gives more than it has, each slowed command is on a full port, equal commands go equally fast."""
    ports, flows = placed([*wanted, wanted[0]])
    paces = fair_paces(flows)
    used = usage(ports, paces)
    assert all(total <= 1 for total in used.values())
    assert all(0 < paces[flow] <= 1 for flow in flows)
    assert all(paces[flow] == 1 or any(used[port] == 1 for port in flow.exact) for flow in flows)
    assert paces[flows[0]] == paces[flows[-1]]


@EXACT
@given(st.lists(shares, min_size=1, max_size=8))
def test_one_port_is_shared_max_min(wanted: list[Fraction]) -> None:
    """On one port a slowed command moves as many bytes per cycle as anybody."""
    ports, flows = placed([{0: share} for share in wanted])
    paces = fair_paces(flows)
    rates = {flow: paces[flow] * flow.exact[ports[0]] for flow in flows}
    assert sum(rates.values()) == min(1, sum(wanted))
    assert all(paces[flow] == 1 or rates[flow] == max(rates.values()) for flow in flows)


def test_coupled_streams_give_back_what_another_port_denies_them() -> None:
    """A command held up at port 1 leaves more of port 0 to the other one."""
    _, flows = placed([{0: Fraction(1, 12), 1: Fraction(13, 12)}, {0: Fraction(1)}])
    assert list(fair_paces(flows).values()) == [Fraction(12, 13), Fraction(12, 13)]
    _, flows = placed([{0: Fraction(1), 1: Fraction(1)}, {0: Fraction(1)}, {1: Fraction(1)}, {1: Fraction(1)}])
    assert list(fair_paces(flows).values()) == [Fraction(1, 3), Fraction(2, 3), Fraction(1, 3), Fraction(1, 3)]


def fluid(jobs: list[tuple[int, Fraction, dict[int, Fraction]]]) -> list[int]:
    """End cycles of (start, cycles, shares), computed cycle by cycle between starts and ends."""
    left = {number: Fraction(cycles) for number, (_, cycles, _) in enumerate(jobs)}
    ends: dict[int, int] = {}
    now = 0
    while len(ends) < len(jobs):
        active = [n for n, (start, _, _) in enumerate(jobs) if start <= now and n not in ends]
        _, flows = placed([jobs[n][2] for n in active])
        paces = fair_paces(flows)
        for number, flow in zip(active, flows, strict=True):
            left[number] -= paces[flow]
            if left[number] <= 0:
                ends[number] = now + 1
        now += 1
    return [ends[number] for number in range(len(jobs))]


@pytest.mark.slow
@EXACT
@given(st.lists(st.tuples(st.integers(0, 12), st.fractions(1, 15, max_denominator=6), demands), min_size=1, max_size=5))
def test_ends_are_those_of_a_cycle_by_cycle_reference(jobs: list[tuple[int, Fraction, dict[int, Fraction]]]) -> None:
    """Re-timing at starts and ends only gives the same edges as going cycle by cycle."""
    event_loop = EventLoop()
    everything = ChipPorts(event_loop)
    ports = [MemoryPort(f"p{number}", 1) for number in range(4)]
    ends: dict[int, int] = {}

    def body(number: int) -> ProcessBody:
        start, cycles, want = jobs[number]
        yield event_loop.timeout(start * 1000)
        flow = everything.begin(streams(everything, cycles, {ports[p]: share for p, share in want.items()}))
        yield flow.event
        assert flow.ended and flow.end_ps == event_loop.now
        ends[number] = event_loop.now // 1000

    for number in range(len(jobs)):
        event_loop.start(body(number))
    event_loop.run()
    assert [ends[number] for number in range(len(jobs))] == fluid(jobs)
    assert not any(port.flows or port.rough for port in ports)


fractions = st.fractions(0, 1, max_denominator=6)
colliding = st.tuples(fractions, st.dictionaries(st.integers(0, 3), st.fractions(Fraction(1, 6), 1, max_denominator=6)))


@EXACT
@given(st.lists(st.one_of(shares.filter(lambda s: s <= 1), colliding), min_size=1, max_size=5), st.randoms())
def test_banks_are_shared_as_ports(
    wanted: list[Fraction | tuple[Fraction, dict[int, Fraction]]], order: random.Random
) -> None:
    """After any starts and ends: no bank gives more than it has, and a slowed command is at a full bank or port."""
    event_loop = EventLoop()
    everything, port = ChipPorts(event_loop), MemoryPort("p", 1)
    flows = []
    for number, want in enumerate(wanted):
        even, more = want if isinstance(want, tuple) else (want, {})
        more = {bank: min(share, 1 - even) for bank, share in more.items() if even < 1}
        mean = even + sum(more.values(), Fraction(0)) / 4
        if not mean:
            continue
        made = streams(everything, 10 + 3 * number, {port: mean})
        if more:
            peak = float(even + max(more.values()) - mean)
            made = replace(made, turns=(0,), peaks=((port, peak),), found={port: UnevenBanks(even, more)})
        flows.append(everything.begin(made))
    while flows:
        assert_fair(port, flows, [everything.pace(flow) for flow in flows])
        gone = flows.pop(order.randrange(len(flows)))
        gone.event.callbacks.clear()
        everything.end(gone, gone.event)
    everything.settle()
    assert not port.flows and not port.banks


def assert_fair(port: MemoryPort, flows: list[PortFlow], paces: list[Cycles]) -> None:
    def load(flow: PortFlow, bank: int) -> Fraction:
        own = flow.streams.found.get(port)
        return flow.exact[port] if own is None else own.even + own.more.get(bank, Fraction(0))

    used = {
        bank: sum((pace * load(flow, bank) for flow, pace in zip(flows, paces, strict=True)), Fraction(0))
        for bank in range(4)
    }
    whole = sum((pace * flow.exact[port] for flow, pace in zip(flows, paces, strict=True)), Fraction(0))
    assert whole <= 1 and all(total <= 1 for total in used.values())
    for flow, pace in zip(flows, paces, strict=True):
        full = whole == 1 or any(used[bank] == 1 and load(flow, bank) for bank in used)
        assert pace == 1 or full


def test_a_full_port_is_not_overfull() -> None:
    """Exactly full stays untouched, however the shares round: 3 x 1/3, 7 x 1/7."""
    for parts in (3, 7, 49):
        _, flows = placed([{0: Fraction(1, parts)}] * parts)
        port = next(iter(flows[0].exact))
        assert not port.overfull()
        _, more = placed([{0: Fraction(1, parts)}] * parts + [{0: Fraction(1, 10**9)}])
        assert next(iter(more[0].exact)).overfull()


def test_ports_of_a_scratchpad() -> None:
    """Capacity = banks x word x ports per edge and direction; shared ports serve both directions."""
    split = Scratchpads({"m": scratchpad("m", 8, word_bytes=4, ports=PortSet(read=2))}, EventLoop()).seen_by("dma")
    moved = [split.demand("m", 640, write=False), split.demand("m", 640, write=True)]
    assert split.shortest(moved, CLOCK) == 640 // 32
    assert split.shortest(moved[:1], CLOCK) == 640 // 64
    assert split.shortest(moved, ClockDomain(2 * 10**9)) == 2 * (640 // 32)
    joint = Scratchpads({"m": scratchpad("m", 8, word_bytes=4, ports=PortSet(shared=True))}, EventLoop()).seen_by("dma")
    assert joint.shortest(moved, CLOCK) == 1280 // 32


def test_demands_of_one_direction_are_merged() -> None:
    """Bytes and whole word accesses of several streams on one port are added, each rounded up by itself."""
    pads = Scratchpads({"m": scratchpad("m", 8, word_bytes=4)}, EventLoop()).seen_by("dma")
    parts = [pads.demand("m", 5, write=False), pads.demand("m", 6, write=False), pads.demand("m", 0, write=True)]
    found = pads.streams(parts, 4, CLOCK)
    assert found.demands == (Demand("m", False, 11, 4), Demand("m", True, 0, 0))
    assert [share for _, share in found.shares] == [11 / 128]
