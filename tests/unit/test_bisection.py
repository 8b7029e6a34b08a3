"""What topologies say of their bisection against maximum flows between all halves of the nodes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from archsim.noc.catalogue import network
from archsim.noc.topology import Topology

NETWORKS = [
    ("mesh", (4, 2)), ("ring", (6,)), ("torus", (4, 2)), ("crossbar", (6,)), ("fat_tree", (2, 3)), ("fat_tree", (4, 1)),
    ("bus", (6,)),
]  # fmt: skip


def cut(topology: Topology, half: tuple[int, ...]) -> int:
    """Flits a cycle from half of the nodes to the others, over their own wires too."""
    source, sink = topology.routers, topology.routers + 1
    wires = np.zeros((sink + 1, sink + 1), np.int32)
    for link in topology.links:
        wires[link.source, link.target] += 1
    for number, node in enumerate(topology.nodes):
        wires[(source, node.router) if number in half else (node.sink, sink)] += 1
    return int(maximum_flow(csr_array(wires), source, sink).flow_value)


@pytest.mark.parametrize(("name", "shape"), NETWORKS)
def test_the_bisection_is_the_least_cut_between_halves(name: str, shape: tuple[int, ...]) -> None:
    topology, _ = network(name, shape)
    nodes = len(topology.nodes)
    assert topology.bisection_links == min(cut(topology, half) for half in combinations(range(nodes), nodes // 2))
