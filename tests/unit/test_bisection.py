"""What topologies say of their bisection against maximum flows between all halves of the nodes."""

from __future__ import annotations

import pytest

from archsim.facts.noc.catalogue import network
from tests.tools.cuts import cut, halves

NETWORKS = [
    ("mesh", (4, 2)), ("ring", (6,)), ("torus", (4, 2)), ("crossbar", (6,)), ("fat_tree", (2, 3)), ("fat_tree", (4, 1)),
    ("bus", (6,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape"), NETWORKS)
def test_the_bisection_is_the_least_cut_between_halves(name: str, shape: tuple[int, ...]) -> None:
    topology, _ = network(name, shape)
    nodes = len(topology.nodes)
    assert topology.bisection_links == min(cut(topology, half) for half in halves(nodes))
