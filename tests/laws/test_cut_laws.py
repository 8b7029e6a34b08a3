"""Laws of networks and cuts: nothing crosses faster than the links between two parts of the nodes carry.

Cuts are maximum flows between all parts of the nodes, found without the topology's routes and without what it says of
its own bisection.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.noc import catalogue
from archsim.facts.noc.catalogue import network
from archsim.noc import channel_load, traffic
from archsim.noc.engine import FIDELITIES
from archsim.noc.offered import LoadProcedure, offer
from archsim.noc.parameters import RouterParameters
from archsim.noc.replay import replay
from tests.tools.cuts import cuts

pytestmark = pytest.mark.slow  # compiles the routers

Named = tuple[str, tuple[int, ...]]
SHARED = {"bus"}  # one medium for all: also within a part
NETWORKS: list[Named] = [
    ("mesh", (4, 2)), ("mesh", (5, 2)), ("mesh", (2, 2, 2)), ("mesh", (9,)), ("torus", (4, 2)), ("torus", (5, 2)),
    ("torus", (3, 3)), ("ring", (8,)), ("ring", (9,)), ("crossbar", (8,)), ("fat_tree", (2, 3)), ("fat_tree", (3, 2)),
    ("tree", (2, 3)), ("bus", (6,)), ("point_to_point", (6,)),
]  # fmt: skip
BUSY = {"flit": 0.4, "link": 0.8}  # of the time in which crowds pass the narrowest cut, it is at least so busy


@cache
def cuts_of(name: Named) -> dict[tuple[int, ...], int]:
    return cuts(network(*name)[0])


def least_cycles(name: Named, sources: np.ndarray, targets: np.ndarray, flits: np.ndarray) -> float:
    """In which every cut can be crossed by the flits that have to."""
    needs = []
    for part, wires in cuts_of(name).items():
        crossing = np.isin(sources, part) & ~np.isin(targets, part)
        needs.append(flits[crossing].sum() / wires)
    return max(needs)


def uniform_bound(name: Named) -> float:
    """Flits per node and cycle of uniform traffic: of n nodes k send (n - k) / n of theirs to the others."""
    nodes = len(network(*name)[0].nodes)
    return min(nodes * wires / (len(part) * (nodes - len(part))) for part, wires in cuts_of(name).items())


def test_every_topology_is_cut() -> None:
    assert {name for name, _ in NETWORKS} == set(catalogue.names())


@pytest.mark.parametrize("name", NETWORKS)
def test_law_30_uniform_traffic_fills_the_narrowest_cut(name: Named) -> None:
    """Law 30: what routes let through of uniform traffic is what the narrowest cut does, no less: they load links that
    are alike alike. A bus carries one flit a cycle, whoever sends it."""
    topology, routes = network(*name)
    uniform = traffic.by_name("uniform", len(topology.nodes), topology.shape)
    ideal = channel_load.ideal_rate(topology, routes, uniform)
    if name[0] in SHARED:
        assert ideal == pytest.approx(1 / len(topology.nodes)) and ideal < uniform_bound(name)
    else:
        assert ideal == pytest.approx(min(1.0, uniform_bound(name)))


@pytest.mark.parametrize("name", NETWORKS)
def test_law_30_no_more_than_the_cut(name: Named) -> None:
    """Law 30: under as much uniform traffic as nodes can send no link carries more than a flit a cycle, and a network
    with a cut that carries less is unstable."""
    topology, routes = network(*name)
    uniform = traffic.by_name("uniform", len(topology.nodes), topology.shape)
    how = LoadProcedure(period_cycles=1000, warm_up=1, periods=4)
    found = offer(topology, routes, RouterParameters(), uniform, rate=1.0, flits=1, procedure=how)
    assert max(found.link_load, default=0.0) <= 1.0
    assert not (uniform_bound(name) < 1.0 and found.stable)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NETWORKS), st.sampled_from(FIDELITIES), st.data())
def test_law_30_packets_cross_every_cut_at_its_rate(name: Named, fidelity: str, data: st.DataObject) -> None:
    """Law 30: any packets, all sent at once, take at least what each cut takes for those that cross it."""
    topology, routes = network(*name)
    nodes = len(topology.nodes)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    count = data.draw(st.sampled_from([1, 20, 300]))
    some = data.draw(st.lists(st.integers(0, nodes - 1), min_size=1, unique=True))
    sources = rng.choice(data.draw(st.sampled_from([some, range(nodes)])), count)
    targets = rng.choice([node for node in range(nodes) if node not in some] or some, count)
    flits = rng.integers(1, 9, count)
    found = replay(
        topology, routes, RouterParameters(), np.zeros(count, int), sources, targets, flits, fidelity=fidelity
    )
    assert found.ended.max() >= least_cycles(name, sources, targets, flits)


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("name", NETWORKS)
def test_law_30_crowds_keep_the_narrowest_cut_busy(name: Named, fidelity: str) -> None:
    """Law 30: the bound is near: a crowd of uniform packets keeps the narrowest cut busy for most of its time (routers'
    allocators lose some of it), the medium of a bus all of it."""
    topology, routes = network(*name)
    nodes, rng = len(topology.nodes), np.random.default_rng(1)
    count = 400 * nodes
    sources, targets = rng.integers(0, nodes, (2, count))
    flits = rng.integers(1, 5, count)
    found = replay(
        topology, routes, RouterParameters(), np.zeros(count, int), sources, targets, flits, fidelity=fidelity
    )
    least = flits.sum() if name[0] in SHARED else least_cycles(name, sources, targets, flits)
    assert BUSY[fidelity] * found.ended.max() <= least <= found.ended.max()
