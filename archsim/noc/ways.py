"""What lies between a node and those it sends to, and how long a lone packet takes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from archsim.facts.noc.routers import CROSSBAR, WIRE
from archsim.facts.noc.routing import NONE, RoutingTable
from archsim.facts.noc.topology import FULL_RATE, Link, Topology
from archsim.noc.parameters import RouterParameters


class ShortestWays:
    """The routes of a network, link by link; of two equally short ones the first."""

    def __init__(self, topology: Topology, routes: RoutingTable) -> None:
        self.topology = topology
        self.routes = routes
        self._ahead = {(link.source, link.source_port): link for link in topology.links}
        self._links: dict[tuple[int, int], tuple[Link, ...]] = {}
        self._flights: dict[tuple[int, int], int] = {}

    def links(self, source: int, target: int) -> tuple[Link, ...]:
        """From the router of node ``source`` to that of ``target``."""
        found = self._links.get((source, target))
        if found is None:
            found = self._links[source, target] = tuple(self._walk(source, target))
        return found

    def _walk(self, source: int, target: int) -> Iterator[Link]:
        router, end = self.topology.nodes[source].router, self.topology.nodes[target].sink
        while router != end:
            link = self._ahead[router, int(self.routes.port[router, target])]
            yield link
            router = link.target

    def choices(self, source: int, target: int) -> int:
        """How many equally short ways packets may take, each its own."""
        others = self.routes.other_port
        return 1 << sum(int(others[link.source, target]) != NONE for link in self.links(source, target))

    def flight_cycles(self, source: int, target: int) -> int:
        """Of a flit that waits for nothing, from when its node sends it: through the switches and over the wires."""
        found = self._flights.get((source, target))
        if found is None:
            first, last = self.topology.nodes[source].delay_cycles, self.topology.nodes[target].delay_cycles
            links = self.links(source, target)
            wires = first + last + sum([link.delay_cycles + ceil(link.period) - 1 for link in links])
            found = wires + WIRE * (len(links) + 2) + CROSSBAR * (len(links) + 1)
            self._flights[source, target] = found
        return found

    def lone_cycles(self, parameters: RouterParameters, source: int, target: int, flits: int) -> int:
        """Cycles from the making of a packet to its last flit's arrival when nothing else moves.

        Each router takes a head ``routing_delay`` cycles, one for a channel (none if speculative) and one through the
        switch; each wire its delay and one, a slow link the rest of the cycles for which a flit takes it. The other
        flits follow, one a cycle, after a slow link at its pace but for what they gain on the head in each router from
        there on. Exact where slow links have whole periods, or there is one; else a lower bound. Holds for buffers that
        do not throttle a lone packet: of at least ``load.unthrottled`` flits. Source of the form: BookSim 2.0,
        measured.
        """
        head = parameters.head_cycles
        paces = self.paces(source, target, head)
        return self.flight_cycles(source, target) + max(span(flits, period) + heads for period, heads in paces) - 1

    def paces(self, source: int, target: int, head: int) -> list[tuple[Fraction, int]]:
        """Of the way as a whole, and of each period of slow links on it: cycles of a flit on such a link, and those
        that a head of ``head`` cycles in each router has spent there up to the last such link."""
        links = self.links(source, target)
        last = {link.period: number for number, link in enumerate(links, 1) if link.period != 1}
        return [(FULL_RATE, head * (len(links) + 1)), *((period, head * number) for period, number in last.items())]


def span(flits: int, period: Fraction) -> int:
    """Cycles from the arrival of the first of ``flits`` that follow one another over a link to after the last one's."""
    return flits if period == 1 else ceil(flits * period) - ceil(period) + 1
