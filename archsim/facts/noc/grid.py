"""Grids of routers, open or closed to rings, in any number of dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from archsim.facts.noc.topology import Link, NetworkNode, Topology, check_shape

MOST_DIMS = 4


def grid(name: str, shape: Sequence[int], *, wraps: bool, link_delay_cycles: int) -> Topology:
    """Router x + X y + ...; output 2 d leads up dimension d, 2 d + 1 down, the last port to the router's node.

    A dimension of two routers does not wrap: the second link would double the first.
    """
    sizes = check_shape(name, shape, tuple(range(1, MOST_DIMS + 1)))
    closed = tuple(wraps and size > 2 for size in sizes)
    routers, ports = math.prod(sizes), 2 * len(sizes) + 1
    places = [place[::-1] for place in itertools.product(*(range(size) for size in sizes[::-1]))]
    links = tuple(link for place in places for link in _links(place, sizes, closed, link_delay_cycles))
    return Topology(
        name=name,
        routers=routers,
        ports=ports,
        links=links,
        nodes=tuple(NetworkNode(router, ports - 1) for router in range(routers)),
        shape=sizes,
        coordinates=tuple(places),
        wraps=closed,
        order=tuple(range(len(sizes))),
        bisection_links=min(_cut(routers, size, wrap) for size, wrap in zip(sizes, closed, strict=True)),
    )


def _links(
    place: tuple[int, ...], sizes: tuple[int, ...], closed: tuple[bool, ...], delay_cycles: int
) -> Iterator[Link]:
    for dim, size in enumerate(sizes):
        for port, sign in ((2 * dim, 1), (2 * dim + 1, -1)):
            to = place[dim] + sign
            if closed[dim] or 0 <= to < size:
                target = (*place[:dim], to % size, *place[dim + 1 :])
                yield Link(number(place, sizes), port, number(target, sizes), port ^ 1, delay_cycles, dim, sign)


def number(place: Sequence[int], sizes: Sequence[int]) -> int:
    """The router at a place."""
    return sum(at * math.prod(sizes[:dim]) for dim, at in enumerate(place))


def _cut(routers: int, size: int, wrap: bool) -> int:
    """Links, of one direction, between the halves of a dimension; of a single router: none to cut."""
    return routers // size * (2 if wrap else 1) if size > 1 else routers
