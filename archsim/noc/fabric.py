"""The network as the engines of the cores see it: messages in, deliveries out, flits charged to layers.

The model behind it (flits or reserved links) is simulated beside the event kernel; messages of one instant reach it in
the order of their queue, then of their command. It sees them at its first edge after that, and a delivery is seen at
the first edge of its receiver at or after it: as of DRAM, without the stages of a synchroniser.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import count
from typing import NamedTuple, Protocol

from archsim.errors import ProgramError
from archsim.ir.activity import LinkFlits, NocStats
from archsim.noc.interface import Delivery, Message
from archsim.noc.network import NetworkStats
from archsim.noc.topology import Topology
from archsim.sim.clock import Clock
from archsim.sim.kernel import Event, Kernel
from archsim.sim.tally import Tally
from archsim.spec.network import Noc


class NetworkModel(Protocol):
    """A network that is simulated beside the machine (``sim.kernel.Model``)."""

    topology: Topology

    def submit(self, at_ps: int, messages: Sequence[Message], /) -> None:
        """Take the messages of one instant, in order."""

    def advance(self, until_ps: int, /) -> Sequence[Delivery]:
        """Run to the first instant <= ``until_ps`` with deliveries and return them, else []."""

    def next_event_ps(self) -> int | None:
        """A lower bound of the next delivery; None when nothing is under way."""

    def node(self, core: int) -> int:
        """The node of a core."""

    def ports(self, part: str) -> tuple[int, ...]:
        """The nodes of the ports of a part above the network, in their order."""

    @property
    def stats(self) -> NetworkStats:
        """Totals since time 0."""

    def least_ps(self, flits: int, source: int | None = None, targets: tuple[int, ...] = ()) -> int:
        """No message of so many flits ends sooner after it was submitted."""


class Errand(NamedTuple):
    """Where a message goes beside its own node, and what it takes at least."""

    targets: tuple[int, ...]
    least_ps: int


class Fabric:
    """One network. ``message_bytes``: of a part of a move at most; ``request_flits``: of what asks a port for parts."""

    def __init__(self, spec: Noc, model: NetworkModel, kernel: Kernel, tally: Tally) -> None:
        self.name = spec.name
        self.model = model
        self.clock = Clock(spec.clock_hz, spec.sync_stages)
        self.message_bytes = spec.message_bytes
        self.request_flits = spec.request_flits
        self._link_bytes = spec.link_bytes
        self._kernel = kernel
        self._tally = tally
        self._number = kernel.attach(model)
        self._ids = count()
        self._attached = tuple(spec.shared)
        self._levels = tuple(level.name for level in spec.levels)
        self._ports: dict[str, tuple[int, ...]] = {}
        self._errands: dict[tuple[int, tuple[int, ...], int], Errand] = {}
        self._charged: dict[tuple[str, tuple[tuple[int, int], ...]], int] = {}

    def node(self, core: int) -> int:
        """The node of a core."""
        return self.model.node(core)

    def port(self, memory: str, address: int) -> int:
        """The node through which ``address`` of a memory above goes.

        Ports take turns, a message long each: of the message's number, the digits in base ports are added up, so that
        strides of a power of it do not meet at one port.
        """
        ports = self._ports.get(memory)
        if ports is None:
            ports = self._ports[memory] = self.model.ports(memory)
        if not ports:
            raise ProgramError(f"memory '{memory}' has no port on network '{self.name}'; 'attach' says where one is")
        number, rest, count = 0, address // self.message_bytes, len(ports)
        while rest and count > 1:
            number += rest % count
            rest //= count
        return ports[number % count]

    def flits(self, size_bytes: int) -> int:
        """Flits of payload."""
        return -(-size_bytes // self._link_bytes)

    def cycles(self, size_bytes: int, clock: Clock) -> Fraction:
        """Cycles of ``clock`` that bytes take at least through the one link of a core."""
        return Fraction(self.flits(size_bytes) * clock.hz, self.clock.hz)

    def send(self, order: tuple[int, ...], source: int, targets: tuple[int, ...], flits: int, clock: Clock) -> Event:
        """Send a message; the event has the Delivery, at an edge of ``clock``, or None when it need not travel.

        ``order`` sorts the messages of one instant.
        """
        errand = self._errands.get((source, targets, flits))
        if errand is None:
            errand = self._errands[source, targets, flits] = self._errand(source, targets, flits)
        if not errand.targets:
            return self._kernel.timeout(clock.at_or_after(self._kernel.now) - self._kernel.now)
        message = Message(next(self._ids), source, errand.targets, flits)
        return self._kernel.submit(self._number, order, message, clock, errand.least_ps)

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

    def charge(self, layer: str, delivery: Delivery | None) -> None:
        """Count what a message of ``layer`` cost on links and in routers."""
        if delivery is not None:
            key = layer, delivery.levels or ((delivery.link_flits, delivery.router_flits),)
            self._charged[key] = self._charged.get(key, 0) + 1

    def _errand(self, source: int, targets: tuple[int, ...], flits: int) -> Errand:
        others = tuple([target for target in targets if target != source])
        return Errand(others, self.model.least_ps(flits, source, others) if others else 0)
