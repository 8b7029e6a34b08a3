"""Whether routes can block one another: circles among the channels that packets hold and those that they wait for.

A packet that holds a class of virtual channels of a link, or a node's way in, waits for the next link of its route.
Without a circle of such waits some packet can always move on. Source: Dally, Seitz, "Deadlock-free message routing in
multiprocessor interconnection networks", IEEE Trans. Computers C-36(5), 1987.
"""

from __future__ import annotations

from collections.abc import Iterator

from archsim.base.errors import ConfigError
from archsim.facts.noc.routing import NONE, RoutingTable
from archsim.facts.noc.topology import Link, Topology

ChannelKey = tuple[int, int, int]  # router, output port, class


def check(topology: Topology, routes: RoutingTable) -> None:
    """Raises ConfigError when a node cannot be reached or routes form a circle, and names the links of one."""
    links = {(link.source, link.source_port): link for link in topology.links}
    waits: dict[ChannelKey, set[ChannelKey]] = {}
    for target in range(len(topology.nodes)):
        _walk(topology, routes, links, target, waits)
    circle = _circle(waits)
    if circle:
        ways = " -> ".join(f"{held[0]} to {links[held[:2]].target}" for held in circle)
        raise ConfigError(
            f"network {topology.name}: routes that can block one another: links {ways} -> {circle[0][0]}; allowed "
            "routes without a circle: leave out a link, or use a topology with a dimension order"
        )


def _walk(
    topology: Topology,
    routes: RoutingTable,
    links: dict[tuple[int, int], Link],
    target: int,
    waits: dict[ChannelKey, set[ChannelKey]],
) -> None:
    """Add what packets to a node hold and wait for, on every way from every node. Raises ConfigError where a way ends,
    or leads back to a channel that the packet has passed."""
    sink = topology.nodes[target].sink
    own: dict[ChannelKey, set[ChannelKey]] = {}
    waiting = [
        channel
        for router in {node.router for node in topology.nodes} - {sink}
        for channel in _wanted(topology, routes, links, router, target, None)
    ]
    while waiting:
        held = waiting.pop()
        if held not in own:
            reached = links[held[:2]].target
            own[held] = set() if reached == sink else _wanted(topology, routes, links, reached, target, held)
            waiting += own[held]
    returning = _circle(own)
    if returning:
        raise ConfigError(
            f"network {topology.name}: a route to node {target} goes in circles at router {returning[0][0]}"
        )
    for held, wanted in own.items():
        if wanted:
            waits.setdefault(held, set()).update(wanted)


def _wanted(
    topology: Topology,
    routes: RoutingTable,
    links: dict[tuple[int, int], Link],
    router: int,
    target: int,
    held: ChannelKey | None,
) -> set[ChannelKey]:
    """The channels that a packet to a node may take at a router, of one class while it stays in a dimension."""
    found = set()
    for port, upper in _ways(routes, router, target):
        link = links.get((router, port))
        if link is None:
            raise ConfigError(f"network {topology.name}: router {router} has no way to node {target}")
        stays = held is not None and link.dim == links[held[:2]].dim
        found.add((router, port, held[2] if stays and held is not None else upper))
    return found


def _ways(routes: RoutingTable, router: int, target: int) -> list[tuple[int, int]]:
    found = [(int(routes.port[router, target]), int(routes.upper[router, target]))]
    other = int(routes.other_port[router, target])
    return found if other == NONE else [*found, (other, int(routes.other_upper[router, target]))]


def _circle(waits: dict[ChannelKey, set[ChannelKey]]) -> list[ChannelKey]:
    """A circle, or nothing; depth first, without recursion."""
    done: set[ChannelKey] = set()
    for start in sorted(waits):
        path, place = [start], {start: 0}
        open_: list[Iterator[ChannelKey]] = [iter(sorted(waits[start]))]
        while open_ and start not in done:
            following = next(open_[-1], None)
            if following is None:
                done.add(path[-1])
                del place[path.pop()]
                open_.pop()
            elif following in place:
                return path[place[following] :]
            elif following not in done:
                place[following] = len(path)
                path.append(following)
                open_.append(iter(sorted(waits.get(following, ()))))
    return []
