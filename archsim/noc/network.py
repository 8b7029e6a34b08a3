"""The network of a chip, simulated beside the event loop: shipments in, deliveries out.

Time inside is counted in cycles of the network's clock by compiled code (compiled/run.py, fidelity ``flit``;
compiled/reserve.py, ``link``), which compiled/serving.py puts beside an event loop; this class cuts messages into
packets, knows the way from each node to those it sends to (``loads``), and makes room for the messages under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from archsim.base import served
from archsim.base.errors import ConfigError, SimulationError
from archsim.base.served import NEVER, CompiledModel
from archsim.base.units import PS_PER_S
from archsim.base.words import WordTable
from archsim.noc import engine
from archsim.noc.fans import MulticastFans
from archsim.noc.parameters import PacketFormat, RouterParameters
from archsim.noc.shipments import MessageLoad, Shipment, ShipmentDelivery
from archsim.noc.ways import ShortestWays
from archsim.sim.clock import ClockDomain
from archsim.sim.messages import MessageBatch, SentRoute
from archsim.spec import topology as chip_topology
from archsim.spec.network import Noc

if TYPE_CHECKING:
    from archsim.noc.compiled.serving import ServedNetwork

FIRST_MESSAGES = 64  # under way before the arrays first grow


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
        from archsim.base.addressed import called  # the compiler is slow to import: only now
        from archsim.noc.compiled import serving
        from archsim.noc.compiled.run import SILENT
        from archsim.noc.loads import MessageLoads

        self.spec = spec
        self._compiled, self._silent = serving, SILENT
        self.packets = PacketFormat(max(1, -(-spec.packet_bytes // spec.link_bytes)), spec.header_flits)
        _check_fit(spec, self.packets)
        self._clock = ClockDomain(spec.clock_hz)
        self.topology, routes, self._ports = chip_topology.network(spec)
        parameters = _parameters(spec)
        self._engine = engine.engine(spec.fidelity, self.topology, routes, parameters, self.packets, seed=self.seed)
        self._fans = MulticastFans(
            ShortestWays(self.topology, routes), self._engine, parameters.head_cycles, multicast=spec.multicast
        )
        self._loads = MessageLoads(self._fans, self.packets, self._clock)
        self._header = np.zeros(serving.HEADER, np.int64)
        self._header[[served.NEXT_PS, serving.NEXT_END]] = NEVER
        shared = gcd(PS_PER_S, spec.clock_hz)
        self._header[[serving.PS, serving.EDGES]] = PS_PER_S // shared, spec.clock_hz // shared
        self._charged = np.zeros((0, 2 * self._fans.levels), np.int64)
        self._submitted_ps = 0
        self._used = self._tickets = np.zeros(0, np.int64)
        self._completions = np.zeros((0, served.COMPLETION_WIDTH), np.int64)
        self._grow()
        self._table = WordTable(self._model())
        self._addresses = self._table.entry(serving.submit), self._table.entry(self._engine.advances)
        self._submit, self._advance = map(called, self._addresses)

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
        found = self._loads.of(batches)
        self._tell()
        return found

    def route(self, sent: SentRoute, parts: object, rows: Iterable[tuple[int, int]]) -> int:
        """The number of a route, by which the compiled machine sends what it is (``MessageLoads.route``)."""
        found = self._loads.route(sent, parts, rows)
        self._tell()
        return found

    def submit(self, at_ps: int, shipments: Sequence[Shipment]) -> None:
        """Take all shipments of the instant ``at_ps``; they are at their nodes at the first edge after it.

        Raises SimulationError when ``at_ps`` is before the time reached or before an earlier submit.
        """
        reached_ps = max(self._now_ps, self._submitted_ps)
        if at_ps < reached_ps:
            raise SimulationError(f"network: message submitted at {at_ps} ps, after it reached {reached_ps} ps")
        self._submitted_ps = at_ps
        none, rows = served.NONE, np.zeros((len(shipments), served.REQUEST_WIDTH), np.int64)
        rows[:] = [(0, rank, 0, 0, number, none, ~load.number, 0, number) for number, load, rank in shipments]
        taken = 0
        while taken < len(rows):
            rest = rows[taken:]
            taken += self._submit(self._table.address, at_ps, rest.ctypes.data, len(rest))
            if taken < len(rows):
                self.make_room()

    def advance(self, until_ps: int) -> list[ShipmentDelivery]:
        """Run to the first instant <= ``until_ps`` with deliveries and return all of that instant, or [].

        Where nothing can end by then the network is run later: what it does is the same. Raises SimulationError when
        messages stand still.
        """
        if until_ps < self._now_ps:
            raise SimulationError(f"network: told to run to {until_ps} ps, already at {self._now_ps} ps")
        count = self._advance(self._table.address, until_ps, 0, 0)
        while count == served.NO_ROOM:
            self.make_room()
            count = self._advance(self._table.address, until_ps, 0, 0)
        if count == served.STUCK:
            messages = engine.under_way(self._engine.state)
            raise SimulationError(f"network {self.spec.name}: {messages} messages stand still")
        return [ShipmentDelivery(number, time_ps) for number, time_ps in self._completions[:count, :2].tolist()]

    def next_event_ps(self) -> int | None:
        """A lower bound of the next delivery; None when nothing is under way."""
        next_ps = int(self._header[served.NEXT_PS])
        return None if next_ps == NEVER else next_ps

    # ---- in the compiled machine (``base.served``)

    def compiled(self) -> CompiledModel:
        """Where its compiled code and its memory lie."""
        places = (int(array.ctypes.data) for array in (self._completions, self._header))
        return CompiledModel(*self._addresses, self._table.address, *places)

    def request(self, shipment: Shipment) -> tuple[int, int, int]:
        """What a request of Python's says: WHAT, WHERE and ID of its row."""
        return ~shipment.load.number, 0, shipment.id

    def completion(self, number: int, place: int) -> ShipmentDelivery:
        """That the shipment of this number has ended, as row ``place`` of the completions says."""
        return ShipmentDelivery(number, int(self._completions[place, served.TIME_PS]))

    def charge_to(self, layers: int) -> None:
        """Count what the machine sends for each of so many layers."""
        self._charged = np.zeros((layers, self._charged.shape[1]), np.int64)
        self._tell()

    @property
    def charged(self) -> Any:
        """By layer: of each level flits times links and flits times routers, shape (layers, 2 levels)."""
        return self._charged

    def make_room(self) -> None:
        """Make what room the compiled code lacks."""
        lacking = int(self._header[self._compiled.LACKING])
        if self._header[self._compiled.BROKEN_OFF]:
            self._engine.make_room()
        while lacking > 0:
            lacking -= self._grow()
        self._header[self._compiled.LACKING] = 0
        self._tell()

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

    @property
    def _now_ps(self) -> int:
        """The time reached."""
        return int(self._header[self._compiled.NOW_PS])

    def _grow(self) -> int:
        """Double the records, at least so that every node can have a message under way to every other one; how many
        more there are."""
        more: int = max(FIRST_MESSAGES, self._engine.state.messages.size, len(self.topology.nodes))
        self._engine.state = engine.with_more(self._engine.state, more)
        self._header[self._compiled.UNUSED] += more
        none = np.zeros(more, np.int64)
        self._used, self._tickets = np.concatenate([self._used, none]), np.concatenate([self._tickets, none])
        self._completions = np.zeros((len(self._used), served.COMPLETION_WIDTH), np.int64)
        return more

    def _model(self) -> ServedNetwork:
        loads = self._loads
        return self._compiled.ServedNetwork(
            header=self._header,
            completions=self._completions,
            loads=loads.loads,
            rows=loads.rows,
            routes=loads.routes,
            parts=loads.parts,
            route_fans=loads.route_fans,
            fans=loads.fans,
            copies=loads.copies,
            facts=loads.facts,
            made=loads.made,
            chain=loads.chain,
            used=self._used,
            tickets=self._tickets,
            charged=self._charged,
            sources=self._silent,
            state=self._engine.state,
        )

    def _tell(self) -> None:
        """Tell the compiled code where its arrays lie, if some are others now."""
        model = self._model()
        if any(now is not before for now, before in zip(model, self._table.value, strict=True)):
            self._table.write(model)


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
