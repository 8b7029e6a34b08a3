"""The network as the engines of the cores see it: batches of messages in, deliveries out, flits charged to layers.

The model behind it (flits or reserved links) is simulated beside the event loop. It sees messages at its first edge
after they were sent, those of one instant in the order of their queues, then of their commands, and a delivery is seen
at the first edge of its receiver at or after it: as of DRAM, without the stages of a synchroniser.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import count
from typing import Any, Protocol

from archsim.base.errors import ProgramError
from archsim.facts.noc.port_turns import turn
from archsim.facts.noc.topology import Topology
from archsim.ir.activity import LinkFlits, NocStats
from archsim.noc.network import NetworkStats
from archsim.noc.shipments import MessageLoad, Shipment, ShipmentDelivery
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event, EventLoop
from archsim.sim.messages import Message, MessageBatch, SentRoute
from archsim.sim.tally import Tally
from archsim.spec.network import Noc


class NetworkModel(Protocol):
    """A network that is simulated beside the machine (``sim.events.SideModel``)."""

    topology: Topology

    def load(self, *batches: MessageBatch) -> MessageLoad:
        """What batches are to this network."""

    def submit(self, at_ps: int, shipments: Sequence[Shipment], /) -> None:
        """Take the shipments of one instant."""

    def advance(self, until_ps: int, /) -> Sequence[ShipmentDelivery]:
        """Run to the first instant <= ``until_ps`` with deliveries and return them, else []."""

    def next_event_ps(self) -> int | None:
        """A lower bound of the next delivery; None when nothing is under way."""

    def node(self, core: int) -> int:
        """The node of a core."""

    def ports(self, part: str) -> tuple[int, ...]:
        """The nodes of the ports of a part above the network, in their order."""

    def route(self, sent: SentRoute, parts: object, rows: Iterable[tuple[int, int]]) -> int:
        """The number of what the compiled machine sends."""

    @property
    def charged(self) -> Any:
        """Of what that has sent, by layer: flits times links and times routers of each level."""

    @property
    def stats(self) -> NetworkStats:
        """Totals since time 0."""


class Fabric:
    """One network. ``message_bytes``: of a part of a move at most; ``request_flits``: of what asks a port for parts."""

    def __init__(self, spec: Noc, model: NetworkModel, event_loop: EventLoop, tally: Tally) -> None:
        self.name = spec.name
        self.model = model
        self.clock = ClockDomain(spec.clock_hz, spec.sync_stages)
        self.message_bytes = spec.message_bytes
        self.request_flits = spec.request_flits
        self._link_bytes = spec.link_bytes
        self._event_loop = event_loop
        self._tally = tally
        self._number = event_loop.attach(model)
        self._ids = count()
        self._attached = tuple(spec.shared)
        self._levels = tuple(level.name for level in spec.levels)
        self._port_of: dict[tuple[str, int], int] = {}  # by memory and block of a message's length
        self._loads: dict[tuple[MessageBatch, ...], MessageLoad | None] = {}
        self._charged: dict[tuple[str, tuple[tuple[int, int], ...]], int] = {}

    def node(self, core: int) -> int:
        """The node of a core."""
        return self.model.node(core)

    def port(self, memory: str, address: int) -> int:
        """The node through which ``address`` of a memory above goes."""
        block = memory, address // self.message_bytes
        port = self._port_of.get(block)
        if port is None:
            port = self._port_of[block] = self._port(*block)
        return port

    def flits(self, size_bytes: int) -> int:
        """Flits of payload."""
        return -(-size_bytes // self._link_bytes)

    def cycles(self, size_bytes: int, clock: ClockDomain) -> Fraction:
        """Cycles of ``clock`` that bytes take at least through the one link of a core."""
        return Fraction(self.flits(size_bytes) * clock.hz, self.clock.hz)

    def load(self, batches: tuple[MessageBatch, ...]) -> MessageLoad | None:
        """What batches are to the network; None if all of it is at its node already, and need not travel."""
        try:
            return self._loads[batches]
        except KeyError:
            load = self._loads[batches] = self._load(batches)
            return load

    def route(
        self, way: tuple[str, int | None, tuple[int, ...]], node: int, parts: object, rows: Iterable[tuple[int, int]]
    ) -> tuple[int, int] | None:
        """By which model and number the compiled machine sends ``parts``, as ``rows`` of offsets and flits say them.

        ``way``: from a node to a memory above, or to targets where that is ''; or (None) from the memory to targets,
        asked for by ``node``. None where some of it is at its node already.
        """
        memory, source, targets = way
        ports = self.model.ports(memory) if memory else ()
        stays = bool({*ports} & {node, *targets}) if source is None else source in (*ports, *targets)
        if stays:
            return None
        sent = SentRoute(source, targets, ports, node, self.request_flits, self.message_bytes)
        return self._number, self.model.route(sent, parts, rows)

    def settle(self, layers: Sequence[str]) -> None:
        """Count what the compiled machine has sent for each of its ``layers``."""
        for layer, counts in zip(layers, self.model.charged.tolist(), strict=False):
            for name, links, routers in zip(self._levels, counts[::2], counts[1::2], strict=False):
                self._tally.add(layer, name, "link_flits", links)
                self._tally.add(layer, name, "router_flits", routers)

    def send(self, order: tuple[int, ...], layer: str, load: MessageLoad | None, clock: ClockDomain) -> Event:
        """Send a load for ``layer``; the event is that all of it has arrived, at an edge of ``clock``.

        ``order``: what sorts those that are sent at one edge; its first number is the engine's own.
        """
        if load is None:
            return self._event_loop.timeout(clock.at_or_after(self._event_loop.now) - self._event_loop.now)
        key = layer, load.passed
        self._charged[key] = self._charged.get(key, 0) + 1
        shipment = Shipment(next(self._ids), load, order[0])
        return self._event_loop.submit(self._number, order, shipment, clock, load.least_ps)

    def close(self) -> NocStats:
        """Totals, once the model has reached the end of the simulation; its charges are counted then."""
        for (layer, levels), times in self._charged.items():
            for name, (link_flits, router_flits) in zip(self._levels, levels, strict=False):
                self._tally.add(layer, name, "link_flits", link_flits * times)
                self._tally.add(layer, name, "router_flits", router_flits * times)
        self._charged.clear()
        stats = self.model.stats
        links = tuple(LinkFlits(link.source, link.target, link.flits) for link in stats.links)
        topology = self.model.topology
        slow = any(link.period != 1 for link in topology.links)
        return NocStats(
            self.name,
            stats.cycles,
            links,
            stats.node_in,
            stats.node_out,
            topology.routers,
            topology.coordinates,
            tuple(node.router for node in topology.nodes),
            {part: self.model.ports(part) for part in self._attached},
            self._levels,
            topology.levels,
            tuple(float(link.period) for link in topology.links) if slow else (),
            topology.within,
        )

    def _port(self, memory: str, block: int) -> int:
        ports = self.model.ports(memory)
        if not ports:
            raise ProgramError(f"memory '{memory}' has no port on network '{self.name}'; 'attach' says where one is")
        return ports[turn(block, len(ports))]

    def _load(self, batches: tuple[MessageBatch, ...]) -> MessageLoad | None:
        """What of ``batches`` travels; None if nothing does."""
        if not any(source in targets for batch in batches for source, targets, _ in batch.messages):
            return self.model.load(*batches)
        found = []
        for batch in batches:
            messages = tuple([away for message in batch.messages if (away := _away(message)).targets])
            if messages:
                found.append(MessageBatch(messages, batch.request))
            elif batch.request is not None:
                found.append(MessageBatch((batch.request,)))
        return self.model.load(*found) if found else None


def _away(message: Message) -> Message:
    """The message without its own node as a target."""
    source, targets, flits = message
    return Message(source, tuple([target for target in targets if target != source]), flits)
