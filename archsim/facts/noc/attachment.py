"""Ports of the parts above a network: nodes of their own at the routers that the chip names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from archsim.base.errors import ConfigError
from archsim.facts.noc import routing
from archsim.facts.noc.topology import NetworkNode, Topology

RouterPlace = tuple[int, ...]


def attached(topology: Topology, places: Sequence[RouterPlace]) -> Topology:
    """The topology with a node more for each place, in order, each at a router port of its own.

    A place is a router's coordinates, or its number where routers have none. The node's wires are those of the nodes
    already there. Raises ConfigError for a place that is not there.
    """
    routers = [_router(topology, place) for place in places]
    used = dict.fromkeys(routers, topology.ports)
    added = []
    for router in routers:
        like = next((node for node in topology.nodes if node.router == router), None)
        delay = 1 if like is None else like.delay_cycles
        added.append(NetworkNode(router, used[router], delay, None if like is None else like.sink_router))
        used[router] += 1
    found = replace(
        topology, ports=max([topology.ports, *used.values()]), nodes=(*topology.nodes, *added), route=()
    )  # fmt: skip
    return replace(found, route=_extended(topology, found)) if topology.route else found


def _router(topology: Topology, place: RouterPlace) -> int:
    places = list(topology.coordinates) or [(router,) for router in range(topology.routers)]
    if tuple(place) not in places:
        sizes = topology.shape if topology.coordinates else (topology.routers,)
        allowed = ", ".join(f"0 to {size - 1}" for size in sizes)
        raise ConfigError(f"attach: found {list(place)}; {topology.name} has routers at [{allowed}]")
    return places.index(tuple(place))


def _extended(before: Topology, found: Topology) -> tuple[tuple[int, ...], ...]:
    """Routes of a topology's own, continued: to a new node as to one already at its router, else the shortest way."""
    shortest = routing.shortest_path(found).port
    rows = [list(row) for row in before.route]
    for number, node in enumerate(found.nodes[len(before.nodes) :], len(before.nodes)):
        there = (old for old, other in enumerate(before.nodes) if other.sink == node.sink)
        like = next(there, None)
        for router, row in enumerate(rows):
            row.append(int(shortest[router, number]) if like is None else row[like])
        rows[node.sink][number] = node.port
    return tuple(tuple(row) for row in rows)
