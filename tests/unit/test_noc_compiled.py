"""The compiled routers: random numbers, results that stay, time in steps of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.jit import entry
from archsim.facts.noc import routing
from archsim.facts.noc.topologies import mesh, torus
from archsim.facts.noc.topology import Topology
from archsim.noc import network_records
from archsim.noc.compiled import knuth, records, reserve, run, turns
from archsim.noc.compiled.node_queues import PacketSources
from archsim.noc.compiled.records import MADE, MESSAGE, NONE, NOW
from archsim.noc.parameters import RouterParameters
from archsim.noc.replay import DeliveredPackets, replay

CYCLES = 1500
pass_integers, pass_fractions = entry(knuth.pass_integers), entry(knuth.pass_fractions)
push, pop, take_slow = entry(turns.push), entry(turns.pop), entry(reserve._take_slow)
ROOM = 40_000


def _offered(topology: Topology, parameters: RouterParameters, rate: float, flits: int, steps: int = 1) -> Any:
    """The state after CYCLES of uniform traffic, in ``steps`` calls."""
    nodes = np.arange(len(topology.nodes), dtype=np.int64)
    sources = PacketSources(rate / flits, flits, np.zeros(0, np.int64), nodes)
    state = network_records.initial(topology, routing.routes(topology), parameters, seed=3)
    state = state._replace(messages=np.zeros(ROOM, MESSAGE))
    for step in range(1, steps + 1):
        run.advance_random(state, sources, CYCLES * step // steps)
    assert state.counts[NOW] == CYCLES
    return state


def _latencies(state: Any) -> tuple[int, int, int]:
    """Packets that arrived, the sum of their latencies, and that sum weighted with the packets' numbers."""
    made = state.messages[: int(state.counts[MADE])]
    ended = np.flatnonzero(made["ended"] != NONE)
    latencies = made["ended"][ended] - made["time"][ended]
    return ended.size, int(latencies.sum()), int((latencies * ended).sum())


def _replayed(parameters: RouterParameters, *, several: bool, times: Any = None) -> DeliveredPackets:
    """600 packets on a torus of 4x4, some of them to several nodes."""
    topology = torus.build((4, 4))
    draw = np.random.default_rng(5)
    when = np.sort(draw.integers(0, CYCLES, 600)) if times is None else times
    count = when.size
    sources, flits = draw.integers(0, 16, count), draw.integers(1, 7, count)
    groups = ((0, 1, 15), (2, 3), tuple(range(16))) if several else ()
    targets = draw.integers(0, 16 + len(groups), count)
    return replay(topology, routing.routes(topology), parameters, when, sources, targets, flits, groups=groups, seed=7)


def test_integers_have_the_published_check_value() -> None:
    """Knuth's rng.c: after ran_start(310952), the first number of the 2010th array of 1009."""
    numbers = knuth.generator(310952).integers
    for _ in range(2009):
        pass_integers(numbers, 1009)
    assert numbers[0] == 995235265


def test_fractions_have_the_published_check_value() -> None:
    """Knuth's rng-double.c: the first of the generator's numbers after 2009 arrays of 1009."""
    numbers = knuth.generator(310952).fractions
    for _ in range(2009):
        pass_fractions(numbers, 1009)
    assert f"{numbers[0]:.20f}" == "0.36410514377569680455"


@pytest.mark.parametrize("count", [199, 2009])
def test_numbers_are_those_of_the_recurrence(count: int) -> None:
    streams = knuth.generator(11)
    integers, fractions = streams.integers[:100].tolist(), streams.fractions[:100].tolist()
    for j in range(100, count + 100):
        integers.append((integers[j - 100] - integers[j - 37]) % (1 << 30))
        fractions.append((fractions[j - 100] + fractions[j - 37]) % 1.0)
    room = np.zeros(count + 100, np.int64), np.zeros(count + 100)
    room[0][:100], room[1][:100] = streams.integers[:100], streams.fractions[:100]
    pass_integers(room[0], count)
    pass_fractions(room[1], count)
    assert room[0][:100].tolist() == integers[count:]
    assert room[1][:100].tolist() == fractions[count:]


PINNED: dict[str, tuple[RouterParameters, float, int]] = {
    "one flit": (RouterParameters(), 0.35, 1),
    "one flit, near its limit": (RouterParameters(), 0.7, 1),
    "eight flits": (RouterParameters(), 0.35, 8),
    "one channel": (RouterParameters(vcs=1), 0.3, 8),
    "three channels of five": (RouterParameters(vcs=3, vc_buffer=5), 0.5, 4),
    "speculative": (RouterParameters(routing_delay=0, speculative=True), 0.35, 4),
    "tail credit": (RouterParameters(wait_for_tail_credit=True), 0.35, 4),
    "hold": (RouterParameters(hold_switch=True), 0.35, 4),
    "separable": (
        RouterParameters(vc_allocator="separable_input_first", switch_allocator="separable_input_first"), 0.5, 4
    ),
    "wavefront": (RouterParameters(vc_allocator="wavefront", switch_allocator="wavefront"), 0.5, 4),
    "max size": (RouterParameters(vc_allocator="max_size", switch_allocator="max_size"), 0.5, 4),
    "speedup": (RouterParameters(input_speedup=2), 0.5, 4),
}  # fmt: skip
MESH = {
    "one flit": (8247, 168750, 693003095),
    "one flit, near its limit": (16458, 525951, 4378636773),
    "eight flits": (1020, 35055, 17896702),
    "one channel": (886, 31612, 13845513),
    "three channels of five": (2913, 86946, 126359741),
    "speculative": (2072, 42079, 43695622),
    "tail credit": (2066, 54757, 56379574),
    "hold": (2064, 53458, 55019677),
    "separable": (2913, 87483, 127469720),
    "wavefront": (2913, 87965, 128081628),
    "max size": (2908, 89288, 129167752),
    "speedup": (2916, 83061, 120895463),
}
TORUS = {
    "one flit": (8241, 162836, 673304782),
    "one flit, near its limit": (16547, 385001, 3194168443),
    "eight flits": (1027, 33489, 16953255),
    "three channels of five": (2916, 85984, 123426679),
    "speculative": (2072, 39862, 41403606),
    "tail credit": (2061, 53809, 55280874),
    "hold": (2071, 50577, 52686602),
    "separable": (2912, 81428, 117394962),
    "wavefront": (2910, 79872, 115330448),
    "max size": (2915, 81829, 118250627),
    "speedup": (2918, 79005, 114245957),
}


@pytest.mark.parametrize("case", PINNED)
def test_latencies_stay(case: str) -> None:
    """As they were when the reference curves were met digit for digit."""
    parameters, rate, flits = PINNED[case]
    assert _latencies(_offered(mesh.build((4, 4)), parameters, rate, flits)) == MESH[case]
    if parameters.vcs > 1:
        assert _latencies(_offered(torus.build((4, 4)), parameters, rate, flits)) == TORUS[case]


@pytest.mark.parametrize("case", ["one flit", "eight flits", "speculative", "hold", "max size"])
def test_time_passes_in_steps_of_any_size(case: str) -> None:
    parameters, rate, flits = PINNED[case]
    whole, steps = (_offered(torus.build((4, 4)), parameters, rate, flits, steps) for steps in (1, 311))
    assert _latencies(whole) == _latencies(steps)
    assert network_records.flits_by_port(whole).tolist() == network_records.flits_by_port(steps).tolist()


@pytest.mark.parametrize("parameters", [RouterParameters(), RouterParameters(speculative=True)])
def test_packets_to_several_nodes_arrive(parameters: RouterParameters) -> None:
    """Also where heads guess: a packet that has a channel at one of its outputs is no head any more."""
    found = _replayed(parameters, several=True)
    assert (found.ended >= 0).all()
    assert found.link_flits.sum() < found.router_flits


@pytest.mark.parametrize("apart", [400, 401, 407, 4099])
def test_idle_time_changes_nothing(apart: int) -> None:
    """Lone packets, their credits home before the next one, take as long as they would anywhere in time."""
    parameters = RouterParameters(vcs=2, vc_buffer=1, credit_delay=25)
    lone, expected = (_replayed(parameters, several=False, times=np.arange(200) * gap) for gap in (apart, 100_000))
    assert (lone.started - np.arange(200) * apart).tolist() == [0] * 200
    assert (lone.ended - lone.started).tolist() == (expected.ended - expected.started).tolist()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), max_size=60), st.integers(0, 60))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_late_turns_leave_their_heap_in_order(turns: list[tuple[int, int]], early: int) -> None:
    """By time, equal times by entry, also where some leave before others come."""
    times, entries = np.zeros(len(turns), np.int64), np.zeros(len(turns), np.int64)
    kept: list[tuple[int, int]] = []
    size = 0
    for count, (time, what) in enumerate(turns):
        size = push(times, entries, size, time, what)
        kept = sorted([*kept, (time, what)])
        if count == early:
            assert (times[0], entries[0]) == kept.pop(0)
            size = pop(times, entries, size)
    while size:
        assert (times[0], entries[0]) == kept.pop(0)
        size = pop(times, entries, size)
    assert not kept


@pytest.mark.parametrize(("numerator", "denominator"), [(3, 2), (5, 3), (4, 1), (7, 4)])
def test_flits_of_a_slow_link_arrive_one_after_the_other(numerator: int, denominator: int) -> None:
    """Against a count flit by flit: each enters when the one before has passed, and is there when its last part is."""
    output = np.zeros(1, records.OUTPUT)[0]
    output["numerator"], output["denominator"] = numerator, denominator
    free = 0
    for at, flits in ((0, 3), (2, 1), (20, 4), (21, 5)):
        ends = []
        for _ in range(flits):
            free = max(free, at * denominator) + numerator
            ends.append(-(-free // denominator))
        assert take_slow(output, flits, at) == (ends[-1] - ends[0] + 1, ends[0] - at - 1)
        assert output["until"] == free
