"""Laws of networks: lone packets, conservation, no deadlock, multicast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ConfigError
from archsim.facts.noc import catalogue, deadlock, routing
from archsim.facts.noc.catalogue import network
from archsim.noc import channel_load, engine
from archsim.noc.parameters import RouterParameters
from archsim.noc.replay import replay
from archsim.noc.ways import ShortestWays
from tests.laws.builders_noc import assert_alone

pytestmark = pytest.mark.slow  # compiles the routers

SHAPES = {
    "mesh": [(4, 4), (3, 2, 2), (5,)],
    "torus": [(4, 4), (5, 3), (6,)],
    "ring": [(6,), (2,), (5,)],
    "crossbar": [(7,)],
    "fat_tree": [(2, 3), (3, 2)],
    "tree": [(3, 4), (5,)],
    "bus": [(6,)],
    "point_to_point": [(5,)],
}
networks = st.sampled_from([(name, shape) for name, shapes in SHAPES.items() for shape in shapes])
routers = st.builds(
    RouterParameters,
    vcs=st.sampled_from([2, 3, 4]),
    vc_buffer=st.sampled_from([1, 2, 5, 8]),
    routing_delay=st.sampled_from([0, 1, 2]),
    credit_delay=st.sampled_from([0, 2]),
    speculative=st.booleans(),
    wait_for_tail_credit=st.booleans(),
    hold_switch=st.booleans(),
    input_speedup=st.sampled_from([1, 2]),
)


def test_every_topology_is_tested() -> None:
    assert set(SHAPES) == set(catalogue.names())


@settings(max_examples=60, deadline=None)
@given(networks, routers, st.integers(1, 9), st.data())
def test_law_30_lone_packets_take_the_formula(
    name: tuple[str, tuple[int, ...]], router: RouterParameters, flits: int, data: st.DataObject
) -> None:
    """Law 30: far apart, every packet takes the sum of its routers and wires, and a cycle for each further flit."""
    topology, routes = network(name[0], name[1], link_delay_cycles=data.draw(st.integers(1, 3)))
    router = replace(router, vc_buffer=channel_load.unthrottled(topology, router))
    nodes = len(topology.nodes)
    pairs = [data.draw(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))) for _ in range(6)]
    assert_alone(topology, routes, router, pairs, flits, 1000)


@settings(max_examples=80, deadline=None)
@given(networks, routers, st.integers(1, 400), st.integers(1, 7), st.integers(0, 2**16))
def test_law_30_every_packet_arrives_once(
    name: tuple[str, tuple[int, ...]], router: RouterParameters, count: int, longest: int, seed: int
) -> None:
    """Law 30: under crowded random traffic nothing is lost, doubled or stuck, and nothing is faster than alone; each
    flit passes each router on its way once."""
    topology, routes = network(*name)
    generator = np.random.default_rng(seed)
    nodes = len(topology.nodes)
    times = np.sort(generator.integers(0, 1 + count // 2, count))
    sources, targets = generator.integers(0, nodes, (2, count))
    flits = generator.integers(1, longest + 1, count)
    found = replay(topology, routes, router, times, sources, targets, flits, seed=seed)
    alone = [
        channel_load.lone_cycles(topology, routes, router, *pair) for pair in zip(sources, targets, flits, strict=True)
    ]
    assert (found.ended - times >= alone).all()
    assert (found.started >= times).all()
    ways = [
        channel_load.hops(topology, routes, source, target) for source, target in zip(sources, targets, strict=True)
    ]
    assert found.link_flits.sum() == (flits * ways).sum()
    assert found.router_flits == (flits * (np.array(ways) + 1)).sum()


@pytest.mark.parametrize("name", [(name, shape) for name, shapes in SHAPES.items() for shape in shapes])
def test_law_30_shipped_routes_have_no_circle(name: tuple[str, tuple[int, ...]]) -> None:
    """Law 30: no shipped topology's routes wait for one another in a circle."""
    topology, routes = network(*name)
    deadlock.check(topology, routes)


@pytest.mark.parametrize(("name", "shape"), [("ring", (5,)), ("ring", (6,)), ("torus", (5, 5))])
def test_law_30_a_circle_is_refused(name: str, shape: tuple[int, ...]) -> None:
    """Law 30: shortest paths round a ring, on one class of channels, wait for themselves and are refused by name."""
    topology, _ = network(name, shape)
    with pytest.raises(ConfigError, match="routes that can block one another: links 0 to 1 -> 1 to 2"):
        deadlock.check(topology, routing.shortest_path(topology))


@settings(max_examples=60, deadline=None)
@given(networks, routers, st.data())
def test_law_28_multicast(name: tuple[str, tuple[int, ...]], router: RouterParameters, data: st.DataObject) -> None:
    """Law 28: the source sends once, each router and link of the tree passes each flit once, every node receives it,
    and not later than the last of as many packets to one node each; at most a cycle later where heads guess and then
    hold the switch."""
    topology, routes = network(*name)
    nodes = len(topology.nodes)
    source = data.draw(st.integers(0, nodes - 1))
    group = tuple(data.draw(st.lists(st.integers(0, nodes - 1), min_size=2, max_size=nodes, unique=True)))
    flits = data.draw(st.integers(1, router.vc_buffer))
    once = replay(topology, routes, router, [0], [source], [nodes], [flits], groups=(group,))
    tree = engine.tree(ShortestWays(topology, routes), source, group)
    edges = {(r, link.source_port) for r, links in enumerate(topology.outgoing()) for link in links}
    used = {(r, port) for r in range(topology.routers) for port in range(topology.ports) if tree[r, 0] >> port & 1}
    assert once.link_flits.sum() == flits * len(used & edges)
    assert once.router_flits == flits * len({router for router, _ in used}) and len(used - edges) == len(group)
    assert once.started.tolist() == [0]
    each = replay(topology, routes, router, [0] * len(group), [source] * len(group), group, [flits] * len(group))
    assert once.link_flits.sum() <= each.link_flits.sum()
    assert once.ended[0] <= each.ended.max() + (router.speculative and router.hold_switch)


@settings(max_examples=25, deadline=None)
@given(networks, st.integers(2, 6), st.integers(0, 1000))
def test_law_30_crowds_of_multicasts_do_not_block(name: tuple[str, tuple[int, ...]], flits: int, seed: int) -> None:
    """Law 30: random multicasts and packets to one node, all at once, arrive; a flit passes each router of its tree
    once, however many outputs it leaves by."""
    topology, routes = network(*name)
    nodes = len(topology.nodes)
    generator = np.random.default_rng(seed)
    groups = tuple(tuple(generator.permutation(nodes)[: generator.integers(2, nodes + 1)].tolist()) for _ in range(8))
    count = 120
    sources = generator.integers(0, nodes, count)
    targets = generator.integers(0, nodes + len(groups), count)
    router = RouterParameters(vcs=2, vc_buffer=flits)
    found = replay(
        topology, routes, router, np.zeros(count, int), sources, targets, np.full(count, flits), groups=groups
    )
    assert found.router_flits - found.link_flits.sum() == flits * count
    ways = ShortestWays(topology, routes)
    passed = 0
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        group = groups[target - nodes] if target >= nodes else (target,)
        passed += int((engine.tree(ways, source, group)[:, 0] != 0).sum())
    assert found.router_flits == flits * passed
