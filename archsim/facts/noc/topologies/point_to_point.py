"""Point to point: nodes and a list of the links between them."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.base.errors import ConfigError
from archsim.facts.noc.topology import Link, NetworkNode, Topology, check_shape


def build(shape: Sequence[int], link_delay_cycles: int = 1, links: Sequence[Sequence[int]] | None = None) -> Topology:
    """``shape``: the number of nodes, one router each. ``links``: pairs of nodes, each in both directions; absent:
    between any two. Packets take the fewest links. Raises ConfigError on a pair that is not of two such nodes."""
    (nodes,) = check_shape("point_to_point", shape, (1,))
    pairs = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)] if links is None else _pairs(links, nodes)
    used = [0] * nodes
    found: list[Link] = []
    for a, b in pairs:
        at_a, at_b = 1 + used[a], 1 + used[b]
        used[a] += 1
        used[b] += 1
        found.append(Link(a, at_a, b, at_b, link_delay_cycles, len(found)))
        found.append(Link(b, at_b, a, at_a, link_delay_cycles, len(found)))
    return Topology(
        name="point_to_point",
        routers=nodes,
        ports=1 + max(used, default=0),
        links=tuple(found),
        nodes=tuple(NetworkNode(node, 0) for node in range(nodes)),
        shape=(nodes,),
    )


def _pairs(links: Sequence[Sequence[int]], nodes: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for pair in links:
        ends = tuple(sorted(pair))
        if len(ends) != 2 or ends[0] == ends[1] or not 0 <= ends[0] <= ends[1] < nodes:
            raise ConfigError(f"topology point_to_point: links: found {list(pair)}; allowed two of 0 to {nodes - 1}")
        if (ends[0], ends[1]) in found:
            raise ConfigError(f"topology point_to_point: links: found {list(pair)} twice; allowed once")
        found.append((ends[0], ends[1]))
    return found
