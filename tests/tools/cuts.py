"""Cuts of networks by maximum flows, which know nothing of routes or of what a topology says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from archsim.facts.noc.topology import Topology


def cut(topology: Topology, part: Sequence[int]) -> int:
    """Flits a cycle from some of the nodes to all others, over links and their own wires."""
    source, sink = topology.routers, topology.routers + 1
    wires = np.zeros((sink + 1, sink + 1), np.int32)
    for link in topology.links:
        wires[link.source, link.target] += 1
    for number, node in enumerate(topology.nodes):
        wires[(source, node.router) if number in part else (node.sink, sink)] += 1
    return int(maximum_flow(csr_array(wires), source, sink).flow_value)


def halves(nodes: int) -> Iterator[tuple[int, ...]]:
    """Every half of the nodes."""
    return combinations(range(nodes), nodes // 2)


def parts(nodes: int) -> Iterator[tuple[int, ...]]:
    """Every choice of some of the nodes, but not of all."""
    return (part for size in range(1, nodes) for part in combinations(range(nodes), size))


def cuts(topology: Topology) -> dict[tuple[int, ...], int]:
    """All cuts, by the nodes on the sending side."""
    return {part: cut(topology, part) for part in parts(len(topology.nodes))}
