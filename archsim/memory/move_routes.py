"""What of a move crosses the network: from where to where, in which parts.

Parts follow one another in the order in which the move goes through its bytes. A contiguous run that is longer than a
part is cut from its start on; the last piece is what is left. Shorter runs go together, as many as fit: whole inner
extents first, then a stretch of the next one. So every part is strided bytes too, and parts never hold bytes of two
steps of an outer extent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple, Protocol

from archsim.ir.footprint import ByteFootprint
from archsim.memory.dram_side import DramSide
from archsim.memory.offchip import TransferShape
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event
from archsim.sim.messages import Message, MessageBatch
from archsim.spec.network import core_of


class TransferPart(NamedTuple):
    """``run_bytes`` contiguous bytes over ``outer`` ((extent, stride), outermost first).

    ``offset``: of its first byte, from the first one of all parts.
    """

    offset: int
    run_bytes: int
    outer: tuple[tuple[int, int], ...] = ()

    @property
    def size_bytes(self) -> int:
        """All of its bytes."""
        return self.run_bytes * prod(extent for extent, _ in self.outer)


def cut(touched: ByteFootprint, most_bytes: int) -> tuple[TransferPart, ...]:
    """``touched`` in parts of at most ``most_bytes`` each, in order; none of nothing."""
    if not touched.size_bytes:
        return ()
    run = touched.run_bytes
    if run > most_bytes:
        pieces = [(at, min(most_bytes, run - at)) for at in range(0, run, most_bytes)]
        return tuple(TransferPart(start + at, size) for start in _starts(touched.outer) for at, size in pieces)
    outer, block = list(touched.outer), run
    inner: list[tuple[int, int]] = []
    while outer and block * outer[-1][0] <= most_bytes:
        inner.insert(0, outer.pop())
        block *= inner[0][0]
    if not outer:
        return (TransferPart(0, run, tuple(inner)),)
    extent, stride = outer.pop()
    most = most_bytes // block
    stretches = [(at * stride, min(most, extent - at)) for at in range(0, extent, most)]
    return tuple(
        TransferPart(start + at, run, (*(((size, stride),) if size > 1 else ()), *inner))
        for start in _starts(outer)
        for at, size in stretches
    )


def _starts(outer: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Offsets of the steps of nested extents, in order."""
    if not outer:
        yield 0
        return
    (extent, stride), *rest = outer
    for step in range(extent):
        for start in _starts(rest):
            yield step * stride + start


class FabricView(Protocol):
    """The network as engines see it (``noc.fabric``)."""

    clock: ClockDomain
    message_bytes: int
    request_flits: int

    def node(self, core: int) -> int:
        """The node of a core."""

    def port(self, memory: str, address: int) -> int:
        """The node through which ``address`` of a memory above goes."""

    def flits(self, size_bytes: int) -> int:
        """Flits of payload."""

    def cycles(self, size_bytes: int, clock: ClockDomain) -> Fraction:
        """Cycles of ``clock`` that bytes take at least through the one link of a core."""

    def load(self, batches: tuple[MessageBatch, ...]) -> Any:
        """What batches of messages are to the network."""

    def route(
        self, way: tuple[str, int | None, tuple[int, ...]], node: int, parts: object, rows: Iterable[tuple[int, int]]
    ) -> tuple[int, int] | None:
        """By which model and number the compiled machine sends parts; None where Python has to."""

    def send(self, order: tuple[int, ...], layer: str, load: Any, clock: ClockDomain) -> Event:
        """Send a load for ``layer``; the event is that all of it has arrived."""


def request(fabric: FabricView, node: int, port: int) -> Message | None:
    """What asks a port for parts, where it must be asked and is not at the engine's own ``node``."""
    flits = fabric.request_flits
    return Message(node, (port,), flits) if flits and port != node else None


@dataclass(frozen=True, slots=True)
class MoveSide:
    """One operand of a move: bytes ``touched`` of a ``memory``; its ``leg`` when that is a DRAM.

    ``operand``: its number among what the command reads, then writes; ``shift``: from the region's own offset to the
    first byte touched.
    """

    operand: int
    memory: str
    shift: int
    touched: ByteFootprint
    leg: DramSide | None


class MemoryWay(NamedTuple):
    """From ``memory`` above the network to ``targets``, or (``source`` is a node) to it; '' between cores."""

    memory: str
    source: int | None
    targets: tuple[int, ...]


class DramAsk(NamedTuple):
    """A part as a transfer of a DRAM, of so many ``bursts`` at most."""

    shape: TransferShape
    bursts: int


@dataclass(slots=True)
class MoveRoute:
    """What crosses between two places: ``parts``, of the flits of one message each.

    ``side``: the operand above the network, None between cores. ``asks``: the parts in a DRAM. ``loads``: what has been
    sent so far, by the ports of the parts.
    """

    side: MoveSide | None
    way: MemoryWay
    parts: tuple[TransferPart, ...]
    messages: tuple[tuple[int], ...]
    asks: tuple[DramAsk, ...] = ()
    loads: dict[tuple[int, ...], Any] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Bytes that cross, once."""
        return sum(part.size_bytes for part in self.parts)


class RouteFinder:
    """Finds routes for the DMA engines of ``core``."""

    def __init__(self, fabric: FabricView, core: int) -> None:
        self.fabric = fabric
        self._core = core

    def of(self, source: MoveSide | None, targets: Sequence[MoveSide]) -> tuple[MoveRoute, ...]:
        """What of a move crosses. A move without source comes from the engine's own core."""
        cores = list(dict.fromkeys(core for side in targets if (core := core_of(side.memory)) is not None))
        if source is not None and core_of(source.memory) is None:
            return self._made(source, None, cores, source)
        home = self._core if source is None else core_of(source.memory)
        assert home is not None
        node = self.fabric.node(home)
        away = [side for side in targets if core_of(side.memory) not in (None, home)]
        sent = away[:1] if source is None else [source] * bool(away)
        found = [route for side in sent for route in self._made(None, node, [c for c in cores if c != home], side)]
        above = [side for side in targets if core_of(side.memory) is None]
        return (*found, *(route for side in above for route in self._made(side, node, [], side)))

    def load(self, route: MoveRoute, address: int) -> Any:
        """All messages of a route that starts at ``address`` above the network, none of it in DRAM."""
        way, port = route.way, self.fabric.port
        ports = tuple([port(way.memory, address + part.offset) for part in route.parts]) if way.memory else ()
        try:
            return route.loads[ports]
        except KeyError:
            load = route.loads[ports] = self.fabric.load(self._batches(route, ports))
            return load

    def sent(self, route: MoveRoute) -> tuple[int, int] | None:
        """By which model and number the compiled machine sends a route, none of it in DRAM; None: Python has to."""
        rows = ((part.offset, flits) for part, (flits,) in zip(route.parts, route.messages, strict=True))
        return self.fabric.route(route.way, self.fabric.node(self._core), route.parts, rows)

    def _batches(self, route: MoveRoute, ports: tuple[int, ...]) -> tuple[MessageBatch, ...]:
        """To or from one place after another; a port sends when it has been asked."""
        memory, source, targets = route.way
        if source is not None:
            to = [(port,) for port in ports] if memory else [targets] * len(route.parts)
            sent = zip(to, route.messages, strict=True)
            return (MessageBatch(tuple([Message(source, nodes, flits) for nodes, (flits,) in sent])),)
        by_port: dict[int, list[Message]] = {}
        for port, (flits,) in zip(ports, route.messages, strict=True):
            by_port.setdefault(port, []).append(Message(port, targets, flits))
        node = self.fabric.node(self._core)
        return tuple([MessageBatch(tuple(sent), request(self.fabric, node, port)) for port, sent in by_port.items()])

    def moved(self, route: MoveRoute, core: int) -> MoveRoute:
        """A route that was found for another ``core``: what was at its node is at the engine's own."""
        theirs, own = self.fabric.node(core), self.fabric.node(self._core)
        memory, source, targets = route.way
        targets = tuple([own if node == theirs else node for node in targets])
        way = MemoryWay(memory, own if source == theirs else source, targets)
        return MoveRoute(route.side, way, route.parts, route.messages, route.asks)

    def _made(
        self, side: MoveSide | None, source: int | None, cores: Sequence[int], carried: MoveSide
    ) -> tuple[MoveRoute, ...]:
        """The route of what ``carried`` touches; none where nothing crosses."""
        parts = cut(carried.touched, self.fabric.message_bytes)
        if not parts or (source is None and not cores):
            return ()
        leg = side.leg if side is not None else None
        way = MemoryWay(
            side.memory if side is not None else "", source, tuple([self.fabric.node(core) for core in cores])
        )
        messages = tuple([(self.fabric.flits(part.size_bytes),) for part in parts])
        return (MoveRoute(side, way, parts, messages, _asks(leg, parts) if leg is not None else ()),)


def _asks(leg: DramSide, parts: Sequence[TransferPart]) -> tuple[DramAsk, ...]:
    """Parts as transfers of a DRAM; those of one shape share it."""
    alike: dict[ByteFootprint, DramAsk] = {}
    for part in parts:
        kind = ByteFootprint(0, part.run_bytes, part.outer)
        if kind not in alike:
            shape = leg.part(kind)
            alike[kind] = DramAsk(shape, leg.dram.bursts(shape))
    return tuple([alike[ByteFootprint(0, part.run_bytes, part.outer)] for part in parts])
