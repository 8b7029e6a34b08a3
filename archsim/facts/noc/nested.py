"""A network in a network: copies of an inner one at the nodes of an outer one, as one topology with routes.

The last node of the inner network is its gateway: in each copy a pair of wires between the gateway's router and the
copy's router of the outer network stands for it, and for the outer network's node. A packet between copies goes to the
gateway by the inner routes, on by the outer ones, and from the gateway to its node by the inner ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import GATEWAY, NODE_DIM, Link, NetworkNode, Topology

_FIELDS = ("port", "upper", "other_port", "other_upper")


@dataclass(frozen=True, slots=True)
class _Copies:
    """``count`` copies of ``inner``; copy c's routers begin at c x inner routers, the outer network's after all."""

    inner: Topology
    outer: Topology
    count: int

    @property
    def outer_base(self) -> int:
        """The first router of the outer network."""
        return self.count * self.inner.routers


def nested(
    inner: tuple[Topology, RoutingTable], outer: tuple[Topology, RoutingTable], count: int
) -> tuple[Topology, RoutingTable]:
    """Copies of ``inner`` at the first ``count`` nodes of ``outer``, whose further nodes stay nodes.

    Nodes: those of each copy in order, its gateway not among them, then the outer network's own; the same of routers.
    """
    copies = _Copies(inner[0], outer[0], count)
    classes = max(inner[1].classes, outer[1].classes)
    kept = _classed(inner, classes), _classed(outer, classes)
    level = 1 + max(inner[0].levels, default=0)
    links = (
        *(link for copy in range(count) for link in _moved(kept[0], copy * inner[0].routers)),
        *(link for copy in range(count) for link in _gateway(copies, copy)),
        *(replace(link, level=level) for link in _moved(kept[1], copies.outer_base, _dims(kept[0]))),
    )
    topology = Topology(
        name=f"{inner[0].name} in {outer[0].name}",
        routers=copies.outer_base + outer[0].routers,
        ports=max(inner[0].ports, outer[0].ports),
        links=links,
        nodes=tuple(_nodes(copies)),
        coordinates=_coordinates(copies),
        bisection_links=outer[0].bisection_links,
        within=_within(copies),
        levels=(*((inner[0].levels or (0,) * inner[0].routers) * count), *(level for _ in range(outer[0].routers))),
    )
    tables = {name: _table(copies, getattr(inner[1], name), getattr(outer[1], name)) for name in _FIELDS}
    return topology, RoutingTable(**tables, classes=classes)


def _classed(network: tuple[Topology, RoutingTable], classes: int) -> tuple[Link, ...]:
    """The links; of a network without classes of channels none lies in a dimension: packets take all channels."""
    topology, routes = network
    if routes.classes == classes:
        return topology.links
    return tuple(replace(link, dim=NODE_DIM) for link in topology.links)


def _dims(links: tuple[Link, ...]) -> int:
    """Dimensions of an inner network: those of the outer one are others, packets between them change class."""
    return 1 + max((link.dim for link in links), default=NODE_DIM)


def _moved(links: tuple[Link, ...], by: int, dims: int = 0) -> Iterator[Link]:
    for link in links:
        dim = link.dim if link.dim == NODE_DIM else link.dim + dims
        yield replace(link, source=link.source + by, target=link.target + by, dim=dim)


def _gateway(copies: _Copies, copy: int) -> Iterator[Link]:
    """Up from the inner network, and down to it."""
    base, gate, node = copy * copies.inner.routers, copies.inner.nodes[-1], copies.outer.nodes[copy]
    above = copies.outer_base
    delay = max(gate.delay_cycles, node.delay_cycles)
    yield Link(base + gate.sink, gate.port, above + node.router, node.port, delay, NODE_DIM, level=GATEWAY)
    yield Link(above + node.sink, node.port, base + gate.router, gate.port, delay, NODE_DIM, level=GATEWAY)


def _nodes(copies: _Copies) -> Iterator[NetworkNode]:
    for copy in range(copies.count):
        for node in copies.inner.nodes[:-1]:
            yield _node(node, copy * copies.inner.routers)
    for node in copies.outer.nodes[copies.count :]:
        yield _node(node, copies.outer_base)


def _node(node: NetworkNode, by: int) -> NetworkNode:
    sink = None if node.sink_router is None else node.sink_router + by
    return replace(node, router=node.router + by, sink_router=sink)


def _table(copies: _Copies, inner: Any, outer: Any) -> Any:
    """(routers, nodes): of a copy's routers to its own nodes, else to the gateway; of the outer ones to the copy."""
    size, own = copies.inner.routers, len(copies.inner.nodes) - 1
    found = np.empty((copies.outer_base + len(outer), copies.count * own + outer.shape[1] - copies.count), outer.dtype)
    for copy in range(copies.count):
        rows, columns = slice(copy * size, (copy + 1) * size), slice(copy * own, (copy + 1) * own)
        found[rows] = inner[:, -1:]
        found[rows, columns] = inner[:, :-1]
        found[copies.outer_base :, columns] = outer[:, copy : copy + 1]
    found[copies.outer_base :, copies.count * own :] = outer[:, copies.count :]
    return found


def _coordinates(copies: _Copies) -> tuple[tuple[int, ...], ...]:
    """Places on one plane: a block for each copy where both networks lie on planes, its outer router at the corner."""
    inner, outer = (_plane(topology) for topology in (copies.inner, copies.outer))
    if not inner or not outer or copies.outer.routers < copies.count:
        return ()
    wide, high = (2 + max(place[axis] for place in inner) for axis in (0, 1))
    at = [outer[copies.outer.nodes[copy].router] for copy in range(copies.count)]
    blocks = [(wide * x + inner_x, high * y + inner_y) for x, y in at for inner_x, inner_y in inner]
    return (*blocks, *((wide * x + wide - 1, high * y + high - 1) for x, y in outer))


def _within(copies: _Copies) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Of each router its own place in its network, then that network's in the one around it."""
    inner, outer = copies.inner, copies.outer
    own = inner.within or tuple((_place(inner, router),) for router in range(inner.routers))
    around = [_place(outer, outer.nodes[copy].router) for copy in range(copies.count)]
    copied = [(*places, place) for place in around for places in own]
    return (*copied, *((_place(outer, router),) for router in range(outer.routers)))


def _place(topology: Topology, router: int) -> tuple[int, ...]:
    return topology.coordinates[router] if topology.coordinates else (router,)


def _plane(topology: Topology) -> list[tuple[int, int]]:
    """Coordinates in two dimensions; empty where there are none, or more."""
    places = topology.coordinates
    if not places or len(places[0]) > 2:
        return []
    return [(place[0], place[1] if len(place) > 1 else 0) for place in places]
