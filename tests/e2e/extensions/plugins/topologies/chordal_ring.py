"""Ring with chords: routers in a circle, one node each, a link to either neighbour and one across the circle.

Packets climb to lower numbers first and descend to higher ones then (up*/down* routing, Schroeder et al., Autonet, IEEE
J. Sel. Areas Comm. 9(8), 1991), so routes cannot block one another whatever links there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from archsim.facts.noc.topology import Link, NetworkNode, Topology, check_shape


def build(shape: Sequence[int], link_delay_cycles: int = 1) -> Topology:
    """``shape``: the number of routers, 4 or more."""
    (size,) = check_shape("chordal_ring", shape, (1,), least=4)
    pairs = {tuple(sorted((a, b % size))) for a in range(size) for b in (a + 1, a + size // 2)}
    neighbours = [sorted({b for pair in pairs for b in pair if a in pair and b != a}) for a in range(size)]
    ways = [(a, b) for a in range(size) for b in neighbours[a]]
    port = {(a, b): 1 + neighbours[a].index(b) for a, b in ways}

    @cache
    def down(router: int, node: int) -> float:
        """Links to a node by way of higher numbers alone."""
        if router == node:
            return 0
        return 1 + min((down(next_, node) for next_ in neighbours[router] if next_ > router), default=float("inf"))

    @cache
    def way(router: int, node: int) -> tuple[float, int]:
        """Links to a node, and the next router: down where that leads there, else up."""
        if router == node:
            return 0, node
        if down(router, node) < float("inf"):
            return min((1 + down(next_, node), next_) for next_ in neighbours[router] if next_ > router)
        return min((1 + way(next_, node)[0], next_) for next_ in neighbours[router] if next_ < router)

    return Topology(
        name="chordal_ring",
        routers=size,
        ports=1 + max(map(len, neighbours)),
        links=tuple(Link(a, port[a, b], b, port[b, a], link_delay_cycles, int(b > a)) for a, b in ways),
        nodes=tuple(NetworkNode(node, 0) for node in range(size)),
        shape=(size,),
        route=tuple(
            tuple(0 if router == node else port[router, way(router, node)[1]] for node in range(size))
            for router in range(size)
        ),
    )
