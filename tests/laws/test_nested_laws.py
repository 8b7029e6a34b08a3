"""Laws of networks in networks and of slow links, at both fidelities."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.noc import attachment, catalogue, deadlock, routing
from archsim.facts.noc.nested import nested
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import GATEWAY, Topology
from archsim.noc import channel_load
from archsim.noc.engine import FIDELITIES
from archsim.noc.network import Network
from archsim.noc.parameters import RouterParameters
from archsim.noc.replay import replay
from archsim.noc.shipments import Shipment
from archsim.noc.ways import ShortestWays
from tests.laws.builders_noc import Sent, assert_alone, noc, package

pytestmark = pytest.mark.slow  # compiles the routers

INNER = [("mesh", (2, 2), (0, 0)), ("mesh", (3, 2), (1, 1)), ("torus", (3, 2), (0, 0)), ("ring", (4,), (2,)),
         ("crossbar", (3,), (0,)), ("fat_tree", (2, 2), (3,)), ("tree", (2, 2), (0,))]  # fmt: skip
OUTER = [("mesh", (2, 2)), ("torus", (3, 3)), ("ring", (5,)), ("crossbar", (3,)), ("tree", (3,)), ("bus", (3,)),
         ("fat_tree", (2, 1)), ("point_to_point", (3,))]  # fmt: skip
PERIODS = [Fraction(1), Fraction(2), Fraction(3), Fraction(64, 25), Fraction(15664, 3125)]
periods = st.sampled_from(PERIODS)
router = RouterParameters()


def joined(
    inner: tuple[str, tuple[int, ...], tuple[int, ...]],
    outer: tuple[str, tuple[int, ...]],
    period: Fraction = Fraction(1),
    delay: int = 1,
) -> tuple[Topology, RoutingTable]:
    """Copies of a network joined at a router to an outer one with slow links and buffers that keep them busy."""
    inside = attachment.attached(catalogue.network(inner[0], inner[1])[0], [inner[2]])
    around, routes = catalogue.network(outer[0], outer[1])
    links = tuple(replace(link, delay_cycles=delay, period=period, buffer_flits=64) for link in around.links)
    return nested((inside, routing.routes(inside)), (replace(around, links=links), routes), len(around.nodes))


networks = st.builds(joined, st.sampled_from(INNER), st.sampled_from(OUTER), periods, st.sampled_from([1, 7]))


@settings(max_examples=60, deadline=None)
@given(networks)
def test_law_30_nested_routes_reach_every_node_without_a_circle(network: tuple[Topology, RoutingTable]) -> None:
    """Law 30: no routes of networks in networks can block one another; between copies all pass both gateways."""
    topology, routes = network
    deadlock.check(topology, routes)
    ways = ShortestWays(topology, routes)
    copies = sum(link.level == GATEWAY for link in topology.links) // 2
    own = len(topology.nodes) // copies
    for source in range(0, len(topology.nodes), 3):
        for target in range(len(topology.nodes)):
            passed = [link.level for link in ways.links(source, target)]
            away = source // own != target // own
            assert passed.count(GATEWAY) == (2 if away else 0)
            assert away or 1 not in passed


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(INNER), st.sampled_from(OUTER), periods, st.integers(1, 20), st.data())
def test_law_30_lone_packets_over_slow_links_take_the_formula(
    inner: tuple[str, tuple[int, ...], tuple[int, ...]],
    outer: tuple[str, tuple[int, ...]],
    period: Fraction,
    flits: int,
    data: st.DataObject,
) -> None:
    """Law 30: links of whole periods, or one that is not, add what a flit takes them; flits follow at their pace."""
    topology, routes = joined(inner, outer, period, data.draw(st.sampled_from([1, 20])))
    ways = ShortestWays(topology, routes)
    buffers = replace(router, vc_buffer=channel_load.unthrottled(topology, router))
    node = st.integers(0, len(topology.nodes) - 1)
    pairs = data.draw(st.lists(st.tuples(node, node), min_size=1, max_size=6))
    slow = [sum(link.period != 1 for link in ways.links(*pair)) for pair in pairs]
    pairs = [pair for pair, count in zip(pairs, slow, strict=True) if period.denominator == 1 or count < 2]
    if not pairs:
        return
    assert_alone(topology, routes, buffers, pairs, flits, 3000)


@settings(max_examples=40, deadline=None)
@given(networks, st.sampled_from([1, 2, 5]), st.integers(0, 2**32 - 1))
def test_law_30_nested_networks_deliver_every_packet_once(
    network: tuple[Topology, RoutingTable], flits: int, seed: int
) -> None:
    """Law 30: under random traffic all arrives, no flit is lost on any kind of link, none is sooner than alone."""
    topology, routes = network
    ways, draw = ShortestWays(topology, routes), np.random.default_rng(seed)
    count, nodes = 300, len(topology.nodes)
    times = np.sort(draw.integers(0, 200, count))
    sources, targets = draw.integers(0, nodes, count), draw.integers(0, nodes, count)
    away = sources != targets
    times, sources, targets = times[away], sources[away], targets[away]
    for fidelity in FIDELITIES:
        found = replay(topology, routes, router, times, sources, targets, np.full(times.size, flits), fidelity=fidelity)
        assert (found.ended >= 0).all()
        levels = np.array([link.level for link in topology.links])
        for level in (0, 1, GATEWAY):
            passed = [link.level == level for pair in zip(sources, targets, strict=True) for link in ways.links(*pair)]
            assert found.link_flits[levels == level].sum() == flits * sum(passed)
        for link, through in zip(topology.links, found.link_flits.tolist(), strict=True):
            assert through * link.period < found.cycles + 2 * link.period
        if fidelity == "flit":
            alone = [
                channel_load.lone_cycles(topology, routes, router, *pair, flits)
                for pair in zip(sources, targets, strict=True)
            ]
            assert (found.ended - times >= alone).all()


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("period", PERIODS)
def test_law_30_a_link_under_load_carries_a_flit_a_period(fidelity: str, period: Fraction) -> None:
    """Law 30: packets of several copies that want one link leave it at its rate, exactly."""
    topology, routes = joined(("mesh", (2, 2), (0, 0)), ("ring", (2,)), period)
    count, flits = 80, 5
    sources = np.arange(count) % 4
    found = replay(
        topology, routes, router, np.zeros(count, np.int64), sources, 4 + sources, np.full(count, flits),
        fidelity=fidelity,
    )  # fmt: skip
    first = min(channel_load.lone_cycles(topology, routes, router, source, 4 + source, 1) for source in range(4))
    busy = ceil(count * flits * period) - ceil(period)
    assert busy <= found.cycles - first <= busy + 40 + flits


@settings(max_examples=25, deadline=None)
@given(networks, st.integers(1, 8), st.data())
def test_law_28_multicast_over_slow_links_sends_each_flit_once(
    network: tuple[Topology, RoutingTable], flits: int, data: st.DataObject
) -> None:
    """Law 28: each link of the tree carries every flit once, slow ones too."""
    topology, routes = network
    ways, nodes = ShortestWays(topology, routes), len(topology.nodes)
    chosen = data.draw(st.lists(st.integers(0, nodes - 1), min_size=3, max_size=6, unique=True))
    source, group = chosen[0], tuple(chosen[1:])
    tree = {(link.source, link.source_port) for target in group for link in ways.links(source, target)}
    for fidelity in FIDELITIES:
        found = replay(topology, routes, router, [0], [source], [nodes], [flits], groups=(group,), fidelity=fidelity)
        assert found.link_flits.sum() == flits * len(tree)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_law_34_packets_of_a_message_that_part_are_not_under_its_least(fidelity: str) -> None:
    """Law 34: what a message takes at least, which tells how far other models may run, holds where its packets take
    equally short ways over slow links side by side.
    """
    one = noc("mesh", packet_bytes=32, header_flits=0, multicast=False, fidelity=fidelity)
    network = Network(package(one, "ring", (4,), period=Fraction(8)))
    load, ends = Sent(0, 0, (12,), 3).load(network), set()
    for at_ps in range(0, 20 * 10**9, 10**9):
        network.submit(at_ps, [Shipment(0, load)])
        ends.add(network.advance(at_ps + 10**9)[0].time_ps - at_ps)
    assert min(ends) >= load.least_ps
    assert len(ends) > 1
