"""Routes as tables: of each router and each destination, the output port and the class of virtual channels.

``dimension_order``: along one dimension after the other (XY on a mesh); on a ring the shorter way, of two equal ones
either. Packets that will pass from the last router of a ring to the first or back take the upper half of the channels
along it, the others the lower half, so that no circle of channels waits for itself. ``shortest_path``: for links
without such order; ``deadlock`` then says whether the routes are safe.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from archsim.facts.noc.topology import Link, Topology

NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class RoutingTable:
    """(routers, nodes) ports and classes (0 lower, 1 upper); ``other_*``: a way as short as the first, or NONE.

    ``classes``: 1 or 2; of two, each needs a virtual channel.
    """

    port: Any
    upper: Any
    other_port: Any
    other_upper: Any
    classes: int


def routes(topology: Topology) -> RoutingTable:
    """The topology's own; else by dimensions where routers have coordinates, else by shortest paths."""
    if topology.route:
        found = _empty(topology, 1)
        found.port[:] = topology.route
        return found
    return dimension_order(topology) if topology.coordinates else shortest_path(topology)


def _empty(topology: Topology, classes: int) -> RoutingTable:
    shape = (topology.routers, len(topology.nodes))
    first, second = np.full(shape, NONE, np.int32), np.full(shape, NONE, np.int32)
    return RoutingTable(first, np.zeros(shape, np.int32), second, np.zeros(shape, np.int32), classes)


def dimension_order(topology: Topology) -> RoutingTable:
    """Tables of a topology with coordinates, dimensions in ``topology.order``."""
    found = _empty(topology, 2 if any(topology.wraps) else 1)
    ports = {(link.source, link.dim, link.sign): link.source_port for link in topology.links}
    for router, place in enumerate(topology.coordinates):
        for number, node in enumerate(topology.nodes):
            turns = _turns(topology, place, topology.coordinates[node.sink])
            if not turns:
                found.port[router, number] = node.port
                continue
            dim, sign, upper = turns[0]
            found.port[router, number], found.upper[router, number] = ports[router, dim, sign], upper
            if len(turns) > 1:
                dim, sign, upper = turns[1]
                found.other_port[router, number], found.other_upper[router, number] = ports[router, dim, sign], upper
    return found


def _turns(topology: Topology, here: tuple[int, ...], there: tuple[int, ...]) -> list[tuple[int, int, bool]]:
    """Dimension, direction and whether the ring's end is passed, of each equally short way; none: arrived."""
    for dim in topology.order:
        ahead = there[dim] - here[dim]
        if not ahead:
            continue
        if not topology.wraps[dim]:
            return [(dim, 1 if ahead > 0 else -1, False)]
        up = ahead % topology.shape[dim]
        down = topology.shape[dim] - up
        ways = [(dim, 1, there[dim] < here[dim])] if up <= down else []
        return ways + ([(dim, -1, there[dim] > here[dim])] if down <= up else [])
    return []


def shortest_path(topology: Topology) -> RoutingTable:
    """Fewest cycles in links, then fewest links; of equal ways the lowest port."""
    found = _empty(topology, 1)
    incoming: list[list[Link]] = [[] for _ in range(topology.routers)]
    for link in topology.links:
        incoming[link.target].append(link)
    for number, node in enumerate(topology.nodes):
        distance = _distances(topology, incoming, node.sink)
        found.port[node.sink, number] = node.port
        for router, links in enumerate(topology.outgoing()):
            ways = [(_plus(link, distance[link.target]), link.source_port) for link in links]
            ways = [way for way in ways if way[0] == distance[router]]
            if router != node.sink and ways:
                found.port[router, number] = ways[0][1]
    return found


def _plus(link: Link, beyond: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if beyond is None else (beyond[0] + link.delay_cycles, beyond[1] + 1)


def _distances(topology: Topology, incoming: list[list[Link]], target: int) -> list[tuple[int, int] | None]:
    """Cycles and links from each router to ``target``, None where there is no way."""
    found: list[tuple[int, int] | None] = [None] * topology.routers
    found[target] = (0, 0)
    waiting = deque([target])
    while waiting:
        router = waiting.popleft()
        for link in incoming[router]:
            way, known = _plus(link, found[router]), found[link.source]
            if way is not None and (known is None or way < known):
                found[link.source] = way
                waiting.append(link.source)
    return found
