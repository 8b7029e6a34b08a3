"""Bus: one medium for all nodes; one flit a cycle, heard by any number of them."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.facts.noc.topology import Link, NetworkNode, Topology, check_shape

_IN, _OUT = 0, 1  # the arbiter, where all send, and the medium's end, where all listen


def build(shape: Sequence[int], link_delay_cycles: int = 1) -> Topology:
    """``shape``: the number of nodes. ``link_delay_cycles``: of the medium; ways to and from it take one cycle each.

    Every node feeds the arbiter, router 0, whose only output is the medium; at its end router 1 hands flits to nodes.
    """
    (nodes,) = check_shape("bus", shape, (1,))
    return Topology(
        name="bus",
        routers=2,
        ports=nodes + 1,
        links=(Link(_IN, nodes, _OUT, nodes, link_delay_cycles, 0, 1),),
        nodes=tuple(NetworkNode(_IN, port, sink_router=_OUT) for port in range(nodes)),
        shape=(nodes,),
        bisection_links=1,
    )
