"""The network of a chip, simulated beside the event loop: shipments in, deliveries out.

Time inside is counted in cycles of the network's clock by compiled code (compiled/run.py, fidelity ``flit``;
compiled/reserve.py, ``link``); this class cuts messages into packets, knows the way from each node to those it sends
to, keeps the records of messages under way and turns picoseconds into edges and back.

Batches of messages are worked out once, as the compiled code reads them, and kept for the next time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from archsim.base.errors import ConfigError, SimulationError
from archsim.noc import engine
from archsim.noc.compiled.records import ASKS, COPY, FAN, LED, NEVER, PLAIN
from archsim.noc.fans import MulticastFan, MulticastFans
from archsim.noc.parameters import PacketFormat, RouterParameters
from archsim.noc.replay import STUCK_CYCLES
from archsim.noc.shipments import MessageLoad, Shipment, ShipmentDelivery
from archsim.noc.ways import ShortestWays, head_cycles
from archsim.sim.clock import ClockDomain
from archsim.sim.messages import Message, MessageBatch
from archsim.spec import topology as chip_topology
from archsim.spec.network import Noc

FIRST_ROOM = 64


class _Known(NamedTuple):
    """A fan and its number among the compiled code's."""

    number: int
    fan: MulticastFan


class MessageLoads:
    """Of a network with these ``fans``. ``fans``, ``copies``: the records of the compiled code of all fans so far."""

    def __init__(self, fans: MulticastFans, packets: PacketFormat, clock: ClockDomain) -> None:
        self.fans: Any = np.zeros(0, FAN)
        self.copies: Any = np.zeros(0, COPY)
        self._fans = fans
        self._packets = packets
        self._clock = clock
        self._used = 0  # copies
        self._known: dict[tuple[int, tuple[int, ...]], _Known] = {}
        self._least: dict[tuple[int, int], int] = {}  # cycles, by fan and flits

    def of(self, batches: Sequence[MessageBatch]) -> MessageLoad:
        """The load of ``batches``. Raises SimulationError on an empty message, one to no node, to its own, or twice to
        one."""
        rows: list[tuple[int, int, int]] = []
        least, records = 0, 0
        passed = [(0, 0)] * self._fans.levels
        for messages, request in batches:
            asking, longest, role = 0, 0, PLAIN
            if request is not None:
                asking, role = self._add(request, ASKS, rows, passed), LED
                records += 1
            for message in messages:
                longest = max(longest, self._add(message, role, rows, passed))
                records += len(self._known[message.source, message.targets].fan.ways)
            least = max(least, asking + longest)
        return MessageLoad(least - 1, self._clock.edge(least - 1), tuple(passed), np.array(rows, np.int64), records)

    def _add(self, message: Message, role: int, rows: list[tuple[int, int, int]], passed: list[tuple[int, int]]) -> int:
        """Put a message into ``rows`` and what it passes into ``passed``; its least cycles."""
        source, targets, flits = message
        known = self._known.get((source, targets))
        if known is None:
            known = self._known[source, targets] = self._found(source, targets)
        total = self._packets.flits(flits)
        if flits < 0 or total < 1:
            raise SimulationError(f"network: a message of {flits} flits and no header; allowed 1 or more")
        rows.append((known.number, flits, role))
        for level, (links, routers) in enumerate(known.fan.levels):
            before = passed[level]
            passed[level] = before[0] + total * links, before[1] + total * routers
        key = known.number, total
        least = self._least.get(key)
        if least is None:
            least = self._least[key] = known.fan.least_cycles(total)
        return least

    def _found(self, source: int, targets: tuple[int, ...]) -> _Known:
        fan, number, first = self._fans.to(source, targets), len(self._known), self._used
        self.fans = _with_room(self.fans, number + 1)
        self.copies = _with_room(self.copies, first + len(fan.ways))
        self.fans[number] = source, first, len(fan.ways)
        for place, way in enumerate(fan.ways, first):
            self.copies[place] = way.where, way.nodes, way.flight_cycles
        self._used += len(fan.ways)
        return _Known(number, fan)


def _with_room(array: Any, count: int) -> Any:
    """The array, or twice as long a one, with room for ``count`` records."""
    if count <= array.size:
        return array
    return np.concatenate([array, np.zeros(max(FIRST_ROOM, array.size, count - array.size), array.dtype)])


FIRST_MESSAGES = 64  # under way before the arrays first grow
ID_BITS = 40  # of a shipment's number, below its rank


@dataclass(frozen=True, slots=True)
class LinkCounter:
    """Flits, headers too, that have entered a link of the topology, and the routers that it joins."""

    source: int
    target: int
    flits: int


@dataclass(frozen=True, slots=True)
class NetworkStats:
    """Since time 0. ``links``: in the topology's order; ``node_in``, ``node_out``: flits that each node has sent into
    the network and that have left it for the node; ``router_flits``: flits times the routers that they have entered;
    ``busiest_share``: of the cycles so far, those for which flits took the busiest link."""

    links: tuple[LinkCounter, ...]
    node_in: tuple[int, ...]
    node_out: tuple[int, ...]
    router_flits: int
    cycles: int
    busiest_share: float


class Network:
    """A ``sim.events.SideModel`` of the network ``spec``.

    Raises ConfigError on an unknown topology, places that it does not have, routes that can block one another, and
    packets to several nodes that do not fit a buffer.
    """

    seed: ClassVar[int] = 0  # of the choices between equally short ways

    def __init__(self, spec: Noc) -> None:
        from archsim.noc.compiled.shipping import take_in  # the compiler is slow to import: only now

        self.spec = spec
        self._take_in = take_in
        self.packets = PacketFormat(max(1, -(-spec.packet_bytes // spec.link_bytes)), spec.header_flits)
        _check_fit(spec, self.packets)
        self._clock = ClockDomain(spec.clock_hz)
        self.topology, routes, self._ports = chip_topology.network(spec)
        parameters = _parameters(spec)
        self._engine = engine.engine(spec.fidelity, self.topology, routes, parameters, self.packets, seed=self.seed)
        self._fans = MulticastFans(
            ShortestWays(self.topology, routes), self._engine, head_cycles(parameters), multicast=spec.multicast
        )
        self._loads = MessageLoads(self._fans, self.packets, self._clock)
        self._sent: dict[int, int] = {}  # records of the shipments under way
        self._spare = 0  # records that are not used
        self._grow()
        self._next_end: int = NEVER
        self._submitted_ps = self._now_ps = 0

    def node(self, core: int) -> int:
        """The node of a core."""
        if not 0 <= core < self.spec.cores:
            raise SimulationError(f"network {self.spec.name}: core {core}; allowed 0 to {self.spec.cores - 1}")
        return core

    def ports(self, part: str) -> tuple[int, ...]:
        """The nodes of the ports of an attached part, in the order of ``attach``."""
        if part not in self._ports:
            raise SimulationError(f"network {self.spec.name}: no port of '{part}'")
        return self._ports[part]

    def load(self, *batches: MessageBatch) -> MessageLoad:
        """What ``batches`` are to this network. Raises SimulationError on an empty message, one to no node, to its own,
        or twice to one."""
        return self._loads.of(batches)

    def submit(self, at_ps: int, shipments: Sequence[Shipment]) -> None:
        """Take all shipments of the instant ``at_ps``; they are at their nodes at the first edge after it.

        Raises SimulationError when ``at_ps`` is before the time reached or before an earlier submit.
        """
        reached_ps = max(self._now_ps, self._submitted_ps)
        if at_ps < reached_ps:
            raise SimulationError(f"network: message submitted at {at_ps} ps, after it reached {reached_ps} ps")
        self._submitted_ps = at_ps
        visible, loads = self._clock.cycle(at_ps + 1), self._loads
        after = at_ps - self._clock.edge(visible - 1)
        for number, load, rank in shipments:
            while self._spare < load.records:
                self._grow()
            self._spare -= load.records
            self._sent[number] = load.records
            state, key = self._engine.state, rank << ID_BITS | number
            self._take_in(state, loads.fans, loads.copies, load.rows, visible, after, key)
            self._next_end = min(self._next_end, visible + load.least_cycles)

    def advance(self, until_ps: int) -> list[ShipmentDelivery]:
        """Run to the first instant <= ``until_ps`` with deliveries and return all of that instant, or [].

        Where nothing can end by then the network is run later: what it does is the same.
        """
        if until_ps < self._now_ps:
            raise SimulationError(f"network: told to run to {until_ps} ps, already at {self._now_ps} ps")
        until = min(self._clock.cycle(until_ps + 1), NEVER - 1)
        count = 0
        while not count and self._next_end < until:
            count = self._run(until)
        if not count:
            self._now_ps = until_ps
            return []
        ended = self._engine.state.done[1 : count + 1].tolist()
        self._now_ps = self._clock.edge(int(self._ended[ended[0]]))
        return [self._delivered(slot) for slot in ended]

    def next_event_ps(self) -> int | None:
        """A lower bound of the next delivery; None when nothing is under way."""
        return None if self._next_end == NEVER else self._clock.edge(self._next_end)

    @property
    def stats(self) -> NetworkStats:
        """Totals since time 0."""
        topology, flow = self.topology, self._engine.flits().tolist()
        routers = topology.routers * topology.ports
        links = tuple(
            LinkCounter(link.source, link.target, flow[link.source * topology.ports + link.source_port])
            for link in topology.links
        )
        through = [link.flits for link in links]
        taken = [float(link.flits * own.period) for link, own in zip(links, topology.links, strict=True)]
        cycles = self._clock.cycle(self._now_ps)
        return NetworkStats(
            links=links,
            node_in=tuple(flow[routers:]),
            node_out=tuple(flow[node.sink * topology.ports + node.port] for node in topology.nodes),
            router_flits=sum(flow[routers:]) + sum(through),
            cycles=cycles,
            busiest_share=max(taken, default=0.0) / max(1, cycles),
        )

    def _run(self, until: int) -> int:
        """Up to the first end, or so far that something must have moved. Raises SimulationError when nothing has."""
        limit = self._next_end + STUCK_CYCLES
        if limit >= until:
            count, self._next_end = self._engine.advance(until, stops=True)
            return count
        state = self._engine.state
        before = engine.progress(state)
        count, self._next_end = self._engine.advance(limit, stops=True)
        if engine.now(state) >= limit and before[0] and before == engine.progress(state):
            raise SimulationError(f"network {self.spec.name}: {before[0]} messages stand still")
        return count

    def _delivered(self, slot: int) -> ShipmentDelivery:
        number = int(self._keys[slot]) & ((1 << ID_BITS) - 1)
        self._spare += self._sent.pop(number)
        return ShipmentDelivery(number, self._now_ps)

    def _grow(self) -> None:
        """Double the records, at least so that every node can have a message under way to every other one."""
        more = max(FIRST_MESSAGES, self._engine.state.messages.size, len(self.topology.nodes))
        self._engine.state = engine.with_more(self._engine.state, more)
        self._spare += more
        messages = self._engine.state.messages
        self._keys, self._ended = messages["key"], messages["ended"]


def _parameters(spec: Noc) -> RouterParameters:
    return RouterParameters(
        vcs=spec.vcs,
        vc_buffer=spec.buffer_flits,
        routing_delay=spec.routing_delay_cycles,
        credit_delay=spec.credit_delay_cycles,
        vc_allocator=spec.vc_allocator,
        switch_allocator=spec.switch_allocator,
        speculative=spec.speculative,
    )


def _check_fit(spec: Noc, packets: PacketFormat) -> None:
    longest = packets.payload_flits + packets.header_flits
    if spec.multicast and longest > spec.buffer_flits:
        raise ConfigError(
            f"{spec.name}.packet: found {packets.payload_flits} flits ({spec.packet_bytes} B in links of "
            f"{spec.link_bytes} B) with a header of {packets.header_flits}; allowed with {spec.name}.buffer "
            f"{spec.buffer_flits}: at most {spec.buffer_flits} in all, for a packet to several nodes waits whole in a "
            "buffer; or say multicast: false"
        )
