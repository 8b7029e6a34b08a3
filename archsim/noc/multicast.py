"""Packets to several nodes: trees of the routes to each, one copy of a flit on each link.

The tree is the union of the routes, so each router has one way in. Branches go on as they can; a flit leaves a buffer
when all have sent it. A packet must fit in one buffer: then a branch that is held up holds up no more than its router.
Source: Duato, Yalamanchili, Ni: Interconnection Networks, section 5.5 (tree-based multicast with virtual cut-through).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.errors import ConfigError
from archsim.noc.kernel.layout import NONE
from archsim.noc.parameters import RouterParameters
from archsim.noc.routing import Routes
from archsim.noc.topology import Topology


def tree(topology: Topology, routes: Routes, source: int, targets: tuple[int, ...]) -> Any:
    """(routers, 2): by router the set of output ports, and of those where packets take the upper class.

    Of two equally short ways the first; a packet in a ring keeps the class with which it entered it, so a router from
    which both classes would leave by one link takes the upper one. Raises ConfigError on an unknown or repeated node.
    """
    nodes = len(topology.nodes)
    if not targets or len(set(targets)) != len(targets) or not all(0 <= target < nodes for target in targets):
        raise ConfigError(f"multicast to {list(targets)}: allowed different nodes of 0 to {nodes - 1}")
    found = np.zeros((topology.routers, 2), np.int64)
    links = {(link.source, link.source_port): link.target for link in topology.links}
    for target in targets:
        router = topology.nodes[source].router
        while router != topology.nodes[target].sink:
            port = int(routes.port[router, target])
            found[router, 0] |= 1 << port
            found[router, 1] |= int(routes.upper[router, target]) << port
            router = links[router, port]
        found[router, 0] |= 1 << topology.nodes[target].port
    return found


def trees(
    topology: Topology, routes: Routes, parameters: RouterParameters, packets: Any, groups: tuple[tuple[int, ...], ...]
) -> tuple[Any, Any, Any]:
    """The trees of all (source, group) pairs among packets; each packet's tree, or NONE, and its number of nodes.

    Raises ConfigError for a packet to a group that is longer than a buffer.
    """
    nodes = len(topology.nodes)
    of_packet, count = np.full(packets.size, NONE, np.int32), np.ones(packets.size, np.int32)
    known: dict[tuple[int, int], int] = {}
    found: list[Any] = []
    for place in np.flatnonzero(packets["target"] >= nodes).tolist():
        source, group = int(packets["source"][place]), int(packets["target"][place]) - nodes
        if packets["flits"][place] > parameters.vc_buffer:
            raise ConfigError(
                f"packet {place}: flits: found {packets['flits'][place]} to several nodes; allowed at most "
                f"{parameters.vc_buffer}, a virtual channel's buffer"
            )
        if (source, group) not in known:
            known[source, group] = len(found)
            found.append(tree(topology, routes, source, groups[group]))
        of_packet[place], count[place] = known[source, group], len(groups[group])
    return (np.stack(found) if found else np.zeros((0, topology.routers, 2), np.int64)), of_packet, count
