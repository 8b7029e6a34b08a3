"""Ports of the parts above a network: nodes of their own at the routers that the chip names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from archsim.errors import ConfigError
from archsim.noc import catalogue, deadlock, nested, routing
from archsim.noc.routing import Routes
from archsim.noc.topology import Node, Topology
from archsim.spec.network import Level, Noc

Place = tuple[int, ...]


def attached(topology: Topology, places: Sequence[Place]) -> Topology:
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
        added.append(Node(router, used[router], delay, None if like is None else like.sink_router))
        used[router] += 1
    found = replace(
        topology, ports=max([topology.ports, *used.values()]), nodes=(*topology.nodes, *added), route=()
    )  # fmt: skip
    return replace(found, route=_extended(topology, found)) if topology.route else found


def network(spec: Noc) -> tuple[Topology, Routes, dict[str, tuple[int, ...]]]:
    """The network of a chip with the ports of attached parts: topology, routes and each part's nodes.

    Networks around it and all their copies of it are one topology: ``nested.nested``.
    """
    topology, routes = _joined(spec)
    if spec.shared or spec.outer:
        deadlock.check(topology, routes)
    ports: dict[str, tuple[int, ...]] = {}
    first = spec.cores
    for part, places in spec.shared.items():
        ports[part] = tuple(range(first, first + len(places)))
        first += len(places)
    return topology, routes, ports


def topology(spec: Noc) -> Topology:
    """As of ``network``, not checked."""
    return _joined(spec)[0]


def _joined(spec: Noc) -> tuple[Topology, Routes]:
    """All copies of the innermost network in those around it."""
    found = _level(spec, spec)
    for outer in spec.outer:
        found = nested.nested(found, _level(outer, spec), outer.nodes)
    return found


def _level(level: Level, spec: Noc) -> tuple[Topology, Routes]:
    """One network with the nodes of what is attached to it, its links as fast as they are."""
    topology, routes = catalogue.network(
        level.topology, level.shape, link_delay_cycles=level.link_delay_cycles, order=level.routing
    )
    places = [place for part in level.attach for place in level.attach[part]]
    if places:
        topology = attached(topology, places)
        routes = routing.routes(topology)
    if level is spec and level.phy is None:
        return topology, routes
    links = tuple(
        replace(
            link,
            delay_cycles=level.delay_cycles(link.delay_cycles, spec.clock_hz),
            period=level.period,
            buffer_flits=level.far_buffer_flits,
        )
        for link in topology.links
    )
    return replace(topology, links=links), routes


def _router(topology: Topology, place: Place) -> int:
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
