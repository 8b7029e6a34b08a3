"""Crossbar: one router between all nodes."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.facts.noc.topology import NetworkNode, Topology, check_shape


def build(shape: Sequence[int], link_delay_cycles: int = 1) -> Topology:
    """``shape``: the number of nodes. ``link_delay_cycles``: from a node to the router and back."""
    (nodes,) = check_shape("crossbar", shape, (1,))
    return Topology(
        name="crossbar",
        routers=1,
        ports=nodes,
        links=(),
        nodes=tuple(NetworkNode(0, port, link_delay_cycles) for port in range(nodes)),
        shape=(nodes,),
        bisection_links=max(1, nodes // 2),
    )
