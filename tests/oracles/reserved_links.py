"""Links that packets reserve, packet by packet in plain Python: what ``archsim.noc.compiled.reserve`` has to equal.

Nothing here is shared with the compiled code but the tables of routes. Every packet has a turn at its node,
at each router and where it arrives; turns of a cycle go in the order in which they became known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import ceil
from typing import Any

from archsim.facts.noc.routers import CROSSBAR, WIRE, head_cycles
from archsim.facts.noc.routing import NONE
from archsim.facts.noc.topology import Link
from archsim.noc.compiled import knuth
from archsim.noc.parameters import PacketFormat
from archsim.noc.ways import ShortestWays
from archsim.sim.clock import ClockDomain
from archsim.sim.messages import Message, MessageBatch
from archsim.spec import topology as chip_topology
from archsim.spec.network import Noc


@dataclass(eq=False)
class Copy:
    """A message's copy, along ``way``: the target, or the output ports of each router. ``left``: packets, times
    the nodes to which they go, that have not arrived; ``then``: what goes when all have."""

    shipment: Shipped
    source: int
    way: Any
    rest: int
    left: int
    then: list[Copy] = field(default_factory=list)


@dataclass(eq=False)
class Shipped:
    """Messages that end together. ``left``: copies that have not arrived; ``key``: as of ``sim.events``."""

    id: int
    key: tuple[int, int]
    left: int = 0


@dataclass(eq=False)
class Packet:
    """On its way; ``lag``, ``spread``, ``waited``: as of ``records.HeadTurn``."""

    copy: Copy
    flits: int
    came_by: Any
    lag: int = 0
    spread: int = 0
    waited: int = 0
    due: int = 0
    is_there: bool = False


@dataclass(eq=False)
class Output:
    """Of a router. ``last``: the packet that has passed it last, by which way, and how long it had waited by then.
    ``until``: when a slow link has passed all that was sent, in cycles."""

    target: int | None
    cycles: int
    period: Any = 1
    free: int = 0
    flits: int = 0
    until: Any = 0
    last: tuple[Packet, Any, int] | None = None


class ReservedLinks:
    """The network ``spec`` at fidelity ``link``. ``ended``: shipments and the cycles of their ends, in order."""

    def __init__(self, spec: Noc) -> None:
        topology, routes, _ = chip_topology.network(spec)
        self.ended: list[tuple[int, int]] = []
        self._multicast, self._nodes = spec.multicast, topology.nodes
        self._routes, self._ways = routes, ShortestWays(topology, routes)
        self._packets = PacketFormat(max(1, -(-spec.packet_bytes // spec.link_bytes)), spec.header_flits)
        self._head = head_cycles(spec.routing_delay_cycles, speculative=spec.speculative)
        self._clock = ClockDomain(spec.clock_hz)
        self._outputs = {(link.source, link.source_port): _output(link) for link in topology.links}
        for node in topology.nodes:
            self._outputs[node.sink, node.port] = Output(None, CROSSBAR + WIRE + node.delay_cycles)
        self.sent = [0] * len(topology.nodes)
        self._free = [0] * len(topology.nodes)
        self._queues: list[deque[Copy]] = [deque() for _ in topology.nodes]
        self._links = [(link.source, link.source_port) for link in topology.links]
        self._coming: list[tuple[tuple[Any, ...], Copy]] = []
        self._turns: list[tuple[int, int, Any]] = []
        self._order = count()
        self._draws = _draws()

    @property
    def link_flits(self) -> list[int]:
        """That have passed each link of the topology."""
        return [self._outputs[place].flits for place in self._links]

    def submit(self, at_ps: int, id: int, rank: int, batches: Sequence[MessageBatch]) -> None:
        """Take a shipment, once all before ``at_ps`` has been run."""
        visible = self._clock.cycle(at_ps + 1)
        after = at_ps - self._clock.edge(visible - 1)
        shipment = Shipped(id, (rank, id))
        for batch in batches:
            asks = [] if batch.request is None else self._copies(shipment, batch.request)
            led = [copy for message in batch.messages for copy in self._copies(shipment, message)]
            for ask in asks:
                ask.then = led
            for copy in asks or led:
                self._join(visible, after, copy)
            shipment.left += len(asks) + len(led)

    def run(self, until: int) -> None:
        """The cycles before ``until``."""
        while (now := self._next()) < until:
            newly = []
            while self._coming and self._coming[0][0][0] == now:
                copy = heappop(self._coming)[1]
                if not self._queues[copy.source]:
                    newly.append(copy.source)
                self._queues[copy.source].append(copy)
            for node in newly:
                self._put(max(now, self._free[node]), node)
            while self._turns and self._turns[0][0] == now:
                self._take(now, heappop(self._turns)[2])

    def _next(self) -> int:
        return min([1 << 62, *(self._turns[0][:1] if self._turns else ()), *(key[0] for key, _ in self._coming[:1])])

    def _copies(self, shipment: Shipped, message: Message) -> list[Copy]:
        source, targets, flits = message
        packets = self._packets.count(flits)
        if len(targets) == 1 or not self._multicast:
            return [Copy(shipment, source, target, flits, packets) for target in targets]
        return [Copy(shipment, source, self._tree(source, targets), flits, packets * len(targets))]

    def _tree(self, source: int, targets: Sequence[int]) -> dict[int, list[int]]:
        """By router the ports out of which a packet to several nodes leaves it, in order."""
        ends = {(self._nodes[target].sink, self._nodes[target].port) for target in targets}
        links = {(link.source, link.source_port) for target in targets for link in self._ways.links(source, target)}
        found: dict[int, list[int]] = {}
        for router, port in sorted(ends | links):
            found.setdefault(router, []).append(port)
        return found

    def _join(self, time: int, after: int, copy: Copy) -> None:
        heappush(self._coming, ((time, after, copy.shipment.key, next(self._order)), copy))

    def _put(self, time: int, what: Any) -> None:
        heappush(self._turns, (time, next(self._order), what))

    def _take(self, now: int, what: Any) -> None:
        if isinstance(what, int):
            self._send(now, what)
        elif isinstance(what, tuple):
            self._pass_router(now, *what)
        elif now < what.due + what.lag:
            self._put(what.due + what.lag, what)
        else:
            self._arrive(now, what)

    def _send(self, now: int, number: int) -> None:
        node, queue = self._nodes[number], self._queues[number]
        copy = queue.popleft()
        payload = min(copy.rest, self._packets.payload_flits)
        packet = Packet(copy, payload + self._packets.header_flits, ("node", number))
        copy.rest -= payload
        self._free[number] = now + packet.flits
        self.sent[number] += packet.flits
        self._put(now + WIRE + node.delay_cycles, (packet, node.router))
        if copy.rest:
            queue.append(copy)
        if queue:
            self._put(self._free[number], number)

    def _pass_router(self, now: int, packet: Packet, router: int) -> None:
        way = packet.copy.way
        if isinstance(way, dict):
            *others, last = way[router]
            for port in others:
                self._pass(now, Packet(**vars(packet)), router, port)
            self._pass(now, packet, router, last)
            return
        port, other = int(self._routes.port[router, way]), int(self._routes.other_port[router, way])
        if other != NONE and next(self._draws) % 2 == 0:
            port = other
        self._pass(now, packet, router, port)

    def _pass(self, now: int, packet: Packet, router: int, port: int) -> None:
        output = self._outputs[router, port]
        asks = now + self._head
        starts = max(asks, output.free)
        wait = starts - asks
        taken, late = packet.flits, 0
        if output.period != 1:
            began = max(output.until, starts)
            first, output.until = began + output.period, began + packet.flits * output.period
            taken, late = ceil(output.until) - ceil(first) + 1, ceil(first) - starts - 1
        if wait and output.last is not None and output.last[1] != packet.came_by and not output.last[0].is_there:
            before, _, waited = output.last
            before.lag += max(0, min(wait, taken) - (before.waited - waited))
        packet.waited += wait
        if packet.spread or output.period != 1:
            gained = packet.spread - max(0, wait - packet.lag) - self._head
            packet.spread = max(0, taken - packet.flits, gained)
        packet.lag = max(0, packet.lag - wait)
        output.last = packet, packet.came_by, packet.waited
        output.free = starts + taken if output.period == 1 else output.until.__floor__()
        output.flits += packet.flits
        packet.came_by = router, port
        reached = starts + output.cycles + late
        if output.target is None:
            packet.due = reached + packet.flits - 1 + packet.spread
            self._put(packet.due + packet.lag, packet)
        else:
            self._put(reached, (packet, output.target))

    def _arrive(self, now: int, packet: Packet) -> None:
        packet.is_there = True
        copy = packet.copy
        copy.left -= 1
        if copy.left:
            return
        for led in copy.then:
            self._join(now + 1, 0, led)
        copy.shipment.left -= 1
        if not copy.shipment.left:
            self.ended.append((copy.shipment.id, now))


def _output(link: Link) -> Output:
    return Output(link.target, CROSSBAR + WIRE + link.delay_cycles, link.period)


def _draws() -> Iterator[int]:
    """Knuth's integers of seed 0, of each 1009 the first 100."""
    numbers = knuth.generator(0).integers[: knuth.LONG].tolist()
    while True:
        yield from numbers[: knuth.LONG]
        for _ in range(knuth.QUALITY):
            numbers.append((numbers[-knuth.LONG] - numbers[-knuth.SHORT]) % (1 << 30))
        numbers = numbers[-knuth.LONG :]
