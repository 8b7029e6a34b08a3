"""The networks of a resolved chip as one topology with its routes, and the nodes at which shared parts stand."""

from __future__ import annotations

from dataclasses import replace

from archsim.facts.noc import catalogue, deadlock, nested, routing
from archsim.facts.noc.attachment import attached
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Topology
from archsim.spec.network import NetworkLevel, Noc


def network(spec: Noc) -> tuple[Topology, RoutingTable, dict[str, tuple[int, ...]]]:
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


def _joined(spec: Noc) -> tuple[Topology, RoutingTable]:
    """All copies of the innermost network in those around it."""
    found = _level(spec, spec)
    for outer in spec.outer:
        found = nested.nested(found, _level(outer, spec), outer.nodes)
    return found


def _level(level: NetworkLevel, spec: Noc) -> tuple[Topology, RoutingTable]:
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
