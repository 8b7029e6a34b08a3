"""Where the messages of a chip's network go: along a tree or one by one, and what that passes and takes at least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from typing import NamedTuple

from archsim.base.errors import SimulationError
from archsim.facts.noc.topology import FULL_RATE, Link
from archsim.noc import engine
from archsim.noc.ways import ShortestWays, span

FlitPace = tuple[Fraction, int]  # period of links, between how many of which packets choose


class CopyWay(NamedTuple):
    """From a node to those that one copy of a message reaches: as the record of the compiled code says it, what it
    passes (links and routers of each level of nested networks, innermost first), and the cycles of a flit there.
    ``alone``: by the period of links, and between how many ways of such links packets choose, the cycles of a flit
    there and of a head up to the last such link, the most (``Ways.paces``).
    """

    where: int
    nodes: int
    flight_cycles: int
    alone: tuple[tuple[FlitPace, int], ...]
    levels: tuple[tuple[int, int], ...]


class MulticastFan(NamedTuple):
    """The ways of a message's copies: one along a tree, or one to each node. What they pass together; ``alone`` of all
    of them; and the cycles of a head on the one where it takes the fewest."""

    ways: tuple[CopyWay, ...]
    alone: tuple[tuple[FlitPace, int], ...]
    fewest_cycles: int
    levels: tuple[tuple[int, int], ...]

    def least_cycles(self, flits: int) -> int:
        """Of a message of ``flits``, headers too, alone: until the last one is where it arrives last, at least."""
        most = max(span(-(-flits // choices), period) + cycles for (period, choices), cycles in self.alone)
        return max(most, len(self.ways) * flits + self.fewest_cycles)


class MulticastFans:
    """Ways from nodes to those they send to; each is found once."""

    def __init__(self, ways: ShortestWays, found: engine.NocEngine, head_cycles: int, *, multicast: bool) -> None:
        self._ways = ways
        self._trees = engine.MulticastTrees(found, ways)
        self._head_cycles = head_cycles
        self._multicast = multicast
        self._known: dict[tuple[int, tuple[int, ...]], MulticastFan] = {}
        self._lone: dict[tuple[int, int], CopyWay] = {}
        self.levels = 1 + max(ways.topology.levels, default=0)  # of nested networks; 1 where there is one

    def to(self, source: int, targets: tuple[int, ...]) -> MulticastFan:
        """The ways of a message's copies."""
        key = (source, targets)
        found = self._known.get(key)
        if found is None:
            self._check(source, targets)
            found = self._known[key] = _fan(self._copies(source, targets))
        return found

    def _copies(self, source: int, targets: tuple[int, ...]) -> tuple[CopyWay, ...]:
        if len(targets) == 1 or not self._multicast:
            return tuple([self._to_one(source, target) for target in targets])
        return (self._way(source, targets, self._trees.where(source, targets)),)

    def _to_one(self, source: int, target: int) -> CopyWay:
        """The way of a copy to one node, which is found once."""
        found = self._lone.get((source, target))
        if found is None:
            found = self._lone[source, target] = self._way(source, (target,), target)
        return found

    def _way(self, source: int, targets: tuple[int, ...], where: int) -> CopyWay:
        ahead = [link for target in targets for link in self._ways.links(source, target)]
        links = {(link.source, link.source_port): link for link in ahead}.values()
        alone: dict[FlitPace, int] = {}
        flights = [self._ways.flight_cycles(source, target) for target in targets]
        for target, flight in zip(targets, flights, strict=True):
            for period, heads in self._ways.paces(source, target, self._head_cycles):
                pace = period, 1 if period == FULL_RATE else self._ways.choices(source, target)
                alone[pace] = max(alone.get(pace, 0), flight + heads)
        return CopyWay(
            where=where,
            nodes=len(targets),
            flight_cycles=max(flights),
            alone=tuple(alone.items()),
            levels=self._passed(source, links),
        )

    def _passed(self, source: int, links: Collection[Link]) -> tuple[tuple[int, int], ...]:
        """Links and routers of each level."""
        topology = self._ways.topology
        of_router = topology.levels or (0,) * topology.routers
        first = topology.nodes[source].router
        links_of = Counter(link.level for link in links)
        routers_of = Counter(of_router[router] for router in {first, *(link.target for link in links)})
        return tuple((links_of[level], routers_of[level]) for level in range(self.levels))

    def _check(self, source: int, targets: tuple[int, ...]) -> None:
        nodes = range(len(self._ways.topology.nodes))
        if not targets or len(set(targets)) < len(targets) or not {source, *targets} <= set(nodes):
            raise SimulationError(
                f"network: message from {source} to {list(targets)}; allowed different nodes of 0 to {len(nodes) - 1}"
            )
        if source in targets:
            raise SimulationError(f"network: message from node {source} to itself")


def _fan(ways: tuple[CopyWay, ...]) -> MulticastFan:
    alone: dict[FlitPace, int] = {}
    for pace, cycles in (each for way in ways for each in way.alone):
        alone[pace] = max(alone.get(pace, 0), cycles)
    return MulticastFan(
        ways=ways,
        alone=tuple(alone.items()),
        fewest_cycles=min(max(cycles for _, cycles in way.alone) for way in ways),
        levels=tuple(
            (sum(links for links, _ in level), sum(routers for _, routers in level))
            for level in zip(*(way.levels for way in ways), strict=True)
        ),
    )
