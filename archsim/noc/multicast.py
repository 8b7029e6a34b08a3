"""Packets to several nodes: trees of the routes to each, one copy of a flit on each link.

The tree is the union of the routes, so each router has one way in. Branches go on as they can; a flit leaves a buffer
when all have sent it. A packet must fit in one buffer: then a branch that is held up holds up no more than its router.
Source: Duato, Yalamanchili, Ni: Interconnection Networks, section 5.5 (tree-based multicast with virtual cut-through).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.errors import ConfigError
from archsim.facts.noc.routers import MOST_PORTS
from archsim.noc.ways import Ways


def tree(ways: Ways, source: int, targets: tuple[int, ...]) -> Any:
    """(routers, 2): by router the set of output ports, and of those where packets take the upper class.

    Of two equally short ways the first; a packet in a ring keeps the class with which it entered it, so a router from
    which both classes would leave by one link takes the upper one. Raises ConfigError on an unknown or repeated node,
    and on routers of more ports than such a set has.
    """
    topology = ways.topology
    nodes = len(topology.nodes)
    if not targets or len(set(targets)) != len(targets) or not all(0 <= target < nodes for target in targets):
        raise ConfigError(f"multicast to {list(targets)}: allowed different nodes of 0 to {nodes - 1}")
    if topology.ports > MOST_PORTS:
        raise ConfigError(f"multicast: routers of {topology.ports} ports; allowed at most {MOST_PORTS}")
    found = np.zeros((topology.routers, 2), np.int64)
    for target in targets:
        for link in ways.links(source, target):
            found[link.source, 0] |= 1 << link.source_port
            found[link.source, 1] |= int(ways.routes.upper[link.source, target]) << link.source_port
        end = topology.nodes[target]
        found[end.sink, 0] |= 1 << end.port
    return found
