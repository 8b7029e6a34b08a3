"""Ports with many commands: one number for all that a port holds up, against paces found one by one."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.memory.chip_ports import ChipPorts
from archsim.memory.memory_port import MemoryPort, PortFlow, PortStreams, UnevenBanks
from archsim.memory.remembered_paces import FairPaces
from archsim.memory.water_level import fair_paces
from archsim.sim.clock import ClockDomain
from archsim.sim.events import HORIZON_PS, EventLoop, ProcessBody
from archsim.sim.protocols import Cycles

EXACT = settings(max_examples=60, deadline=None, derandomize=True)
CLOCKS = (ClockDomain(10**9), ClockDomain(1_350_000_000), ClockDomain(700_000_001))

shares = st.fractions(Fraction(1, 12), 2, max_denominator=12)
cycles = st.fractions(1, 40, max_denominator=7)
# start, clock, and one after another: cycles, share of the port
jobs = st.tuples(
    st.integers(0, 30_000), st.sampled_from(CLOCKS), st.lists(st.tuples(cycles, shares), min_size=1, max_size=3)
)


def ends(programs: list[tuple[int, ClockDomain, list[tuple[Fraction, dict[int, Fraction]]]]]) -> list[int]:
    """When each command ends."""
    event_loop = EventLoop()
    everything = ChipPorts(event_loop)
    ports: dict[int, MemoryPort] = {}
    found: dict[tuple[int, int], int] = {}

    def body(number: int) -> ProcessBody:
        start_ps, clock, commands = programs[number]
        yield event_loop.timeout(clock.at_or_after(start_ps))
        for index, (length, want) in enumerate(commands):
            exact = {ports.setdefault(port, MemoryPort(str(port), 1)): share for port, share in want.items()}
            rounded = tuple((port, float(share)) for port, share in exact.items())
            flow = everything.begin(PortStreams(everything, clock, length, (), exact, rounded, ceil(length)))
            yield flow.event
            assert flow.ended and flow.end_ps == event_loop.now
            found[number, index] = event_loop.now

    for number in range(len(programs)):
        event_loop.start(body(number))
    event_loop.run()
    assert not any(port.flows for port in ports.values())
    return [found[key] for key in sorted(found)]


@pytest.mark.slow
@EXACT
@given(st.lists(jobs, min_size=1, max_size=14))
def test_a_second_port_with_the_same_demands_changes_no_end(
    programs: list[tuple[int, ClockDomain, list[tuple[Fraction, Fraction]]]],
) -> None:
    """Two ports that hold up the same commands alike are served one by one, a port alone as a pool: to the same ps."""
    one = [(at, clock, [(length, {0: share}) for length, share in todo]) for at, clock, todo in programs]
    two = [(at, clock, [(length, {0: share, 1: share}) for length, share in todo]) for at, clock, todo in programs]
    assert ends(one) == ends(two)


@pytest.mark.slow
@EXACT
@given(st.lists(jobs, min_size=2, max_size=10), st.lists(st.booleans(), min_size=10, max_size=10))
def test_a_pool_closes_and_forms_again_without_a_trace(
    programs: list[tuple[int, ClockDomain, list[tuple[Fraction, Fraction]]]], tied: list[bool]
) -> None:
    """Commands that now and then fill a second port in the same way break up the pool; no end moves."""
    one = [(at, clock, [(length, {0: share}) for length, share in todo]) for at, clock, todo in programs]
    mixed = [
        (at, clock, [(length, {0: share, 1: share} if tie else {0: share}) for length, share in todo])
        for (at, clock, todo), tie in zip(programs, tied, strict=False)
    ]
    assert ends(one) == ends(mixed)


def test_many_starts_and_ends_on_one_clock() -> None:
    """Equal commands that start together end together, however often the service was counted anew."""
    lanes = 40
    todo = [(Fraction(10), {0: Fraction(1, 8)})] * 12
    found = ends([(0, CLOCKS[0], todo)] * lanes)
    assert found == [1000 * 10 * lanes // 8 * (index + 1) for _ in range(lanes) for index in range(12)]


@EXACT
@given(st.sampled_from((*CLOCKS, ClockDomain(10**12), ClockDomain(3 * 10**12))), st.integers(0, 10**14))
def test_positions_in_parts_are_positions(clock: ClockDomain, time_ps: int) -> None:
    """A cycle has as many parts as make every ps whole; edges, which are rounded to ps, are whole cycles."""
    for at_ps in (time_ps, clock.at_or_after(time_ps)):
        assert clock.position_in(clock.parts, at_ps) == Fraction(*clock.position(at_ps)) * clock.parts
    assert clock.position(clock.at_or_after(time_ps)) == (clock.cycle(time_ps), 1)


def by_definition(flows: list[PortFlow]) -> dict[PortFlow, Cycles]:
    """The slowest command first, all levels found anew after each, on rational numbers alone."""
    left = {port: Fraction(1) for flow in flows for port in flow.exact if port.overfull()}
    paces: dict[PortFlow, Cycles] = dict.fromkeys(flows, 0)
    growing = list(flows)
    while growing:
        waiting = list(growing)
        while waiting:
            gain, number = min((rise(flow, waiting, paces, left), flow.number) for flow in waiting)
            flow = next(flow for flow in waiting if flow.number == number)
            waiting.remove(flow)
            paces[flow] += gain
            for port in flow.exact.keys() & left.keys():
                left[port] -= flow.exact[port] * gain
        growing = [flow for flow in growing if paces[flow] < 1 and all(left.get(port, 1) for port in flow.exact)]
    return paces


def rise(
    flow: PortFlow, waiting: list[PortFlow], paces: dict[PortFlow, Cycles], left: dict[MemoryPort, Fraction]
) -> Cycles:
    gains = [1 - paces[flow]]
    for port in flow.exact.keys() & left.keys():
        wishes = sorted(other.exact[port] * (1 - paces[other]) for other in waiting if port in other.exact)
        levels = [(left[port] - sum(wishes[:n])) / (len(wishes) - n) for n in range(len(wishes))]
        if sum(wishes) > left[port]:
            gains.append(
                next(level for level, wish in zip(levels, wishes, strict=True) if wish > level) / flow.exact[port]
            )
    return min(gains)


nearly = st.builds(lambda share, more: share + Fraction(more, 10**15), shares, st.integers(0, 3))
demands = st.dictionaries(st.integers(0, 3), nearly, min_size=1, max_size=4)


@EXACT
@given(st.lists(demands, min_size=1, max_size=7))
def test_paces_are_exact_where_rounded_numbers_are_equal(wanted: list[dict[int, Fraction]]) -> None:
    """Shares that differ by less than a floating-point number tells get the paces of the definition."""
    flows, _ = on_ports(wanted)
    assert fair_paces(flows) == by_definition(flows)


def on_ports(wanted: list[dict[int, Fraction]]) -> tuple[list[PortFlow], list[MemoryPort]]:
    """Commands with these shares, on ports of their own."""
    ports = [MemoryPort(str(number), 1) for number in range(4)]
    flows = []
    for number, want in enumerate(wanted):
        exact = {ports[port]: share for port, share in want.items()}
        rounded = tuple((port, float(share)) for port, share in exact.items())
        flows.append(PortFlow(number, PortStreams(ChipPorts(EventLoop()), CLOCKS[0], 1, (), exact, rounded, 1), 0))
        for port, share in rounded:
            port.add(flows[-1], share)
    return flows, ports


alike = st.sampled_from([Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**15), Fraction(2, 3), Fraction(1)])
alike_demands = st.dictionaries(st.integers(0, 3), alike, min_size=1, max_size=3)


@EXACT
@given(st.lists(st.lists(alike_demands, min_size=1, max_size=5), min_size=2, max_size=6))
def test_remembered_paces_are_those_of_the_definition(meetings: list[list[dict[int, Fraction]]]) -> None:
    """One memory of paces over meetings that are alike, twice each on other ports, gives what each gets by itself."""
    remembered = FairPaces()
    for wanted in [*meetings, *meetings]:
        flows, ports = on_ports(wanted)
        overfull = [port for port in ports if port.overfull()]
        paces = remembered.of(reversed(flows), overfull)
        assert paces == by_definition(flows)
        assert all(pace is paces[flows[0]] for pace in paces.values() if pace == paces[flows[0]])


def test_starts_and_ends_of_an_instant_are_settled_together() -> None:
    """Of ten commands that start together those that a port holds up have no end before the instant is over."""
    event_loop = EventLoop()
    everything, port = ChipPorts(event_loop), MemoryPort("p", 1)
    streams = PortStreams(everything, CLOCKS[0], 4, (), {port: Fraction(1, 2)}, ((port, 0.5),), 4)
    flows = [everything.begin(streams) for _ in range(10)]
    assert [flow.event.triggered for flow in flows] == [number < 2 for number in range(10)]
    event_loop.run()
    assert [flow.end_ps for flow in flows] == [4 * 1000 * 10 // 2] * 10


BANKS = 3
Loads = dict[int, tuple[Fraction, dict[int, Fraction]]]  # port -> (of each of its banks, more of some)
Job = tuple[int, ClockDomain, Fraction, Loads]  # start, clock, cycles, loads

some = st.fractions(Fraction(1, 6), 1, max_denominator=6)
uneven = st.one_of(st.just({}), st.dictionaries(st.integers(0, BANKS - 1), some, min_size=1))
loads = st.dictionaries(st.integers(0, 1), st.tuples(some, uneven), min_size=1)
starts = st.integers(0, 20_000)


def of_port(even: Fraction, more: dict[int, Fraction]) -> Fraction:
    return even + sum(more.values(), Fraction(0)) / BANKS


def mixed_ends(jobs: list[Job]) -> list[int]:
    """When each command ends."""
    event_loop = EventLoop()
    everything, ports = ChipPorts(event_loop), [MemoryPort("p", 1), MemoryPort("q", 1)]
    found: dict[int, int] = {}

    def body(number: int) -> ProcessBody:
        start_ps, clock, length, want = jobs[number]
        yield event_loop.timeout(clock.at_or_after(start_ps))
        exact = {ports[port]: of_port(*load) for port, load in want.items()}
        rounded = tuple((port, float(share)) for port, share in exact.items())
        streams = PortStreams(everything, clock, length, (), exact, rounded, ceil(length))
        streams.found = {ports[port]: UnevenBanks(*load) for port, load in want.items() if load[1]}
        streams.peaks = tuple(
            (port, float(own.even + max(own.more.values()) - exact[port])) for port, own in streams.found.items()
        )
        streams.turns = (0,) * len(streams.found)
        flow = everything.begin(streams)
        yield flow.event
        found[number] = event_loop.now

    for number in range(len(jobs)):
        event_loop.start(body(number))
    event_loop.run()
    assert not any(port.flows or port.banks or port.peak for port in ports)
    return [found[number] for number in range(len(jobs))]


def paces_of(jobs: dict[int, Job]) -> dict[int, Cycles]:
    """By definition, each bank of each port as a port."""
    ports = {(port, bank): MemoryPort(f"{port}.{bank}", 1) for port in range(2) for bank in (None, *range(BANKS))}
    flows = []
    for number, (_, clock, length, want) in sorted(jobs.items()):
        exact = {ports[port, None]: of_port(*load) for port, load in want.items()}
        for port, (even, more) in want.items():
            exact |= {ports[port, bank]: even + more.get(bank, 0) for bank in range(BANKS)}
        rounded = tuple((port, float(share)) for port, share in exact.items())
        flows.append(PortFlow(number, PortStreams(ChipPorts(EventLoop()), clock, length, (), exact, rounded, 1), 0))
        for port, share in rounded:
            port.add(flows[-1], share)
    return {flow.number: pace for flow, pace in by_definition(flows).items()}


def ends_by_definition(jobs: list[Job]) -> list[int]:
    """All paces anew whenever a command starts or ends; commands in order of their starts."""
    clocks, left = [clock for _, clock, _, _ in jobs], [length for _, _, length, _ in jobs]
    begins, ends = [first_edge(job) for job in jobs], dict.fromkeys(range(len(jobs)), HORIZON_PS)
    now_ps = begins[0]
    while now_ps < max(ends.values()):
        paces = paces_of({n: job for n, job in enumerate(jobs) if begins[n] <= now_ps < ends[n]})
        busy = [number for number in paces if left[number] > 0]
        exact = [Fraction(*clocks[number].position(now_ps)) + left[number] / paces[number] for number in busy]
        edges = [clocks[number].edge(ceil(end)) for number, end in zip(busy, exact, strict=True)]
        then_ps = min(at for at in [*edges, *begins, *ends.values()] if at > now_ps)
        for number, edge in zip(busy, edges, strict=True):
            clock = clocks[number]
            left[number] -= paces[number] * (Fraction(*clock.position(then_ps)) - Fraction(*clock.position(now_ps)))
            if left[number] <= 0:
                ends[number] = edge
        now_ps = then_ps
    return list(ends.values())


def first_edge(job: Job) -> int:
    return job[1].at_or_after(job[0])


@pytest.mark.slow
@EXACT
@given(st.lists(st.tuples(starts, st.sampled_from(CLOCKS[:2]), cycles, loads), min_size=2, max_size=6))
def test_ends_on_ports_and_banks_are_those_of_the_definition(jobs: list[Job]) -> None:
    """Pools, ports of banks where one may be overfull and what is left alone: to the same ps as all paces anew."""
    jobs = sorted(jobs, key=first_edge)
    assert mixed_ends(jobs) == ends_by_definition(jobs)
