"""On-chip memories that commands read and write explicitly: scratchpads, buffers, FIFOs, accumulators.

A memory moves ``banks x word x ports`` bytes per edge of its clock in each direction; with shared ports, in both
together. Ports are common, or an engine's own. Modelled: port bandwidth, word accesses (a run of bytes costs whole
words), conflicts of a stream's own words in the banks.

A stream takes bytes / bandwidth cycles, and as many more as its region takes at the banks beyond contiguous words
(``banks.lost_cycles``): it cannot go faster, however idle the port is, and its command lasts until it is done. Arrays
and vector units go over the tiles of their operands again and again; each pass loses the same. Such a stream loads each
bank by the words that it has there, and shares the banks with the other streams (``ports``); banks that a conflict
leaves idle serve them at full rate.

Not modelled: the order in which streams come to a bank (they share it at fair rates); the order of words inside a fold
of an array, which has skewing and transposing buffers at its edges (each operand streams in address order, evenly over
the command); access latency (pipelined; part of the engines' start-up).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from archsim.base.errors import ProgramError
from archsim.facts.banks import bank_loads, banking, lost_cycles, stream_cycles
from archsim.memory.memory_port import BankConflict, MemoryPort, PortStreams, StreamStarter
from archsim.sim.clock import ClockDomain
from archsim.sim.protocols import Cycles, Demand, StreamPlace
from archsim.spec.memories import Memory
from archsim.spec.network import core_of, instance, part_of


class Scratchpad:
    """One on-chip memory, called ``name``: its ports, its banks and its word."""

    def __init__(self, name: str, spec: Memory) -> None:
        self.name = name
        self.word_bytes = spec.word_bytes
        self.clock_hz = spec.clock_hz
        self._spec = spec
        self.banks = banking(spec)
        self.address_granule = _granule(spec)
        self._ports: dict[str, MemoryPort] = {}

    def port(self, engine: str, *, write: bool) -> MemoryPort:
        """The port over which ``engine`` reads or writes: its own or the common one."""
        owner, group = self._spec.port_group(engine, write=write)
        way = "port" if group.shared else ("write" if write else "read")
        name = ".".join(filter(None, (self.name, owner, way)))
        if name not in self._ports:
            rate = self._spec.bytes_per_cycle_of(engine, write=write)
            self._ports[name] = MemoryPort(name, rate * self.clock_hz)
        return self._ports[name]

    def accesses(self, size_bytes: int) -> int:
        """Word accesses of contiguous bytes."""
        return -(-size_bytes // self.word_bytes)

    def ports(self, engine: str, *, write: bool) -> int:
        """Ports of a bank over which ``engine`` reads or writes."""
        return self._spec.port_group(engine, write=write)[1].count(write=write)


class PortAccess(NamedTuple):
    """How an engine reads or writes a memory: over ``port``, which is ``ports`` of each bank."""

    pad: Scratchpad
    port: MemoryPort
    ports: int


class Scratchpads:
    """All on-chip memories by name, cores' own ones too (``sim.protocols.OnChip``); made where first used."""

    def __init__(self, specs: Mapping[str, Memory], ports: StreamStarter) -> None:
        self._pads = LazyScratchpads(specs)
        self._ports = ports
        self._seen: dict[str, EngineScratchpads] = {}

    def seen_by(self, engine: str) -> EngineScratchpads:
        """The memories over the ports of a kind of engine: dma, array, vector."""
        found = self._seen.get(engine)
        if found is None:
            found = self._seen[engine] = EngineScratchpads(self._pads, self._ports, engine)
        return found


class LazyScratchpads:
    """Scratchpads by name, each made when it is first asked for. ``granular``: addresses matter in some."""

    def __init__(self, specs: Mapping[str, Memory]) -> None:
        self._specs = specs
        self.granular = any(_granule(spec) > 1 for spec in {id(spec): spec for spec in specs.values()}.values())
        self._made: dict[str, Scratchpad] = {}

    def find(self, name: str) -> Scratchpad | None:
        """The memory called ``name``; None when it is not on chip."""
        found = self._made.get(name)
        if found is None and name in self._specs:
            found = self._made[name] = Scratchpad(name, self._specs[name])
        return found

    def known(self) -> str:
        """What there is, for messages."""
        return ", ".join(self._specs) or "none"


class EngineScratchpads:
    """The on-chip memories over the ports of one kind of engine (``sim.protocols.Storage``)."""

    def __init__(self, pads: LazyScratchpads, ports: StreamStarter, engine: str) -> None:
        self._pads = pads
        self._ports = ports
        self._engine = engine
        self.granular = pads.granular
        self._ways: dict[tuple[str, bool], PortAccess] = {}

    def demand(
        self,
        memory: str,
        size_bytes: int,
        *,
        write: bool,
        accesses: int | None = None,
        place: StreamPlace | None = None,
    ) -> Demand:
        """A stream of ``size_bytes``; ``accesses`` and ``place`` unless its bytes are contiguous.

        Raises ProgramError when ``memory`` is not on chip.
        """
        way = self._way(memory, write)
        lost = _lost(way, size_bytes, place) if place is not None and size_bytes else 0
        accesses = way.pad.accesses(size_bytes) if accesses is None else accesses
        return Demand(memory, write, size_bytes, accesses, lost, place if lost else None)

    def word_bytes(self, memory: str) -> int:
        """Bytes of one word; raises ProgramError when ``memory`` is not on chip."""
        return self._pad(memory).word_bytes

    def address_granule(self, memory: str) -> int:
        """Addresses that differ by a multiple of this cost the same (1: all addresses do, also in other memories)."""
        pad = self._pads.find(memory)
        return 1 if pad is None else pad.address_granule

    def shortest(self, demands: Sequence[Demand], clock: ClockDomain) -> Fraction:
        """Cycles of ``clock`` that ``demands`` take at least, alone on their ports, without conflicts in banks."""
        cycles = [
            Fraction(size_bytes * clock.hz, port.bytes_per_s) for port, size_bytes in self._per_port(demands).items()
        ]
        return max(cycles, default=Fraction(0))

    def streams(self, demands: Sequence[Demand], cycles: Cycles, clock: ClockDomain) -> PortStreams:
        """Streams of a command of ``cycles`` cycles, or as many more as its slowest stream takes at the banks.

        Raises ProgramError when bytes are to move in no time.
        """
        merged = _merged(demands)
        per_port = self._per_port(merged)
        if per_port and not cycles:
            raise ProgramError(f"{sum(per_port.values())} bytes are to be moved in 0 cycles")
        colliding = [(demand, self._at_banks(demand, clock)) for demand in demands if demand.lost_cycles]
        cycles = max([cycles, *[at_banks for _, at_banks in colliding]])
        shares = {port: _share(port, size_bytes, cycles, clock) for port, size_bytes in per_port.items()}
        rounded = tuple([(port, share.numerator / share.denominator) for port, share in shares.items()])
        plain = PortStreams(self._ports, clock, cycles, merged, shares, rounded, ceil(cycles))
        if colliding:
            self._collide(plain, colliding, per_port)
        return plain

    def _collide(
        self, streams: PortStreams, colliding: Sequence[tuple[Demand, Fraction]], per_port: Mapping[MemoryPort, int]
    ) -> None:
        """State how the demands that collide load the banks: they alone take so many cycles."""
        cycles, even_bytes = streams.cycles, dict(per_port)
        streams.conflicts = tuple([self._conflict(demand, at_banks / cycles) for demand, at_banks in colliding])
        streams.places = tuple([conflict.place for conflict in streams.conflicts])
        for (demand, _), conflict in zip(colliding, streams.conflicts, strict=True):
            even_bytes[conflict.port] -= demand.size_bytes
        uneven = dict.fromkeys(conflict.port for conflict in streams.conflicts)
        streams.even = {port: _share(port, even_bytes[port], cycles, streams.clock) for port in uneven}
        streams.peaks = _peaks(streams)

    def moved(self, streams: PortStreams, core: int | None, to: int | None) -> PortStreams:
        """The same ``streams`` with the memories of one core in place of another's."""
        if core is None or to is None or core == to:
            return streams
        ports: dict[MemoryPort, MemoryPort] = {}
        demands = []
        for demand in streams.demands:
            memory, write, size_bytes, accesses, lost, place = demand
            if core_of(memory) != core:
                demands.append(demand)
                continue
            other = instance(part_of(memory), to)
            demands.append(Demand(other, write, size_bytes, accesses, lost, place))
            if size_bytes:
                ports[self._way(memory, write).port] = self._way(other, write).port
        return streams.on(ports, tuple(demands))

    def _conflict(self, demand: Demand, pace: Fraction) -> BankConflict:
        """What a stream takes of each bank at ``pace``: alone, the time that it takes there."""
        way, place = self._way(demand.memory, demand.write), demand.place
        if place is None:
            raise ValueError("a stream loses cycles in banks at some place")
        region = (way.pad.banks, way.ports, place.touched.run_bytes, place.touched.outer, place.first_byte)
        most = way.ports * stream_cycles(*region)
        return BankConflict(way.port, place, way.pad.banks, bank_loads(*region), pace / most)

    def _at_banks(self, demand: Demand, clock: ClockDomain) -> Fraction:
        """Cycles of ``clock`` that a stream takes alone."""
        way, lost = self._way(demand.memory, demand.write), demand.lost_cycles
        lost_bytes = lost * (way.port.bytes_per_s // way.pad.clock_hz)
        return Fraction((demand.size_bytes + lost_bytes) * clock.hz, way.port.bytes_per_s)

    def _per_port(self, demands: Iterable[Demand]) -> dict[MemoryPort, int]:
        total: dict[MemoryPort, int] = {}
        for demand in demands:
            if demand.size_bytes:
                port = self._way(demand.memory, demand.write).port
                total[port] = total.get(port, 0) + demand.size_bytes
        return total

    def _way(self, memory: str, write: bool) -> PortAccess:
        """How the engine reads or writes ``memory``; raises ProgramError when that is not on chip."""
        way = self._ways.get((memory, write))
        if way is None:
            pad = self._pad(memory)
            ports = pad.ports(self._engine, write=write)
            way = self._ways[memory, write] = PortAccess(pad, pad.port(self._engine, write=write), ports)
        return way

    def _pad(self, memory: str) -> Scratchpad:
        found = self._pads.find(memory)
        if found is None:
            raise ProgramError(f"'{memory}' is not an on-chip memory; on chip are: {self._pads.known()}")
        return found


def _granule(spec: Memory) -> int:
    """Addresses that differ by a multiple of this cost the same (1: all do)."""
    granule = banking(spec).granule_bytes
    return granule if granule > spec.word_bytes else 1


def _lost(way: PortAccess, size_bytes: int, place: StreamPlace) -> Cycles:
    """Cycles that a stream of ``size_bytes`` over and over a region loses: a pass's share of them for each."""
    touched = place.touched
    once = lost_cycles(way.pad.banks, way.ports, touched.run_bytes, touched.outer, place.first_byte)
    if not once or size_bytes == touched.size_bytes:
        return once
    return Fraction(once * size_bytes, touched.size_bytes)


def _share(port: MemoryPort, size_bytes: int, cycles: Cycles, clock: ClockDomain) -> Fraction:
    """What bytes in so many cycles take of a port."""
    return Fraction(size_bytes * clock.hz * cycles.denominator, cycles.numerator * port.bytes_per_s)


def _peaks(streams: PortStreams) -> tuple[tuple[MemoryPort, float], ...]:
    """By how much colliding streams load one bank of a port more than the port at most, rounded."""
    peaks = {port: float(even - streams.exact[port]) for port, even in streams.even.items()}
    for conflict in streams.conflicts:
        peaks[conflict.port] += max(conflict.loads) * conflict.unit.numerator / conflict.unit.denominator
    return tuple([(port, max(peak, 0.0)) for port, peak in peaks.items()])


def _merged(demands: Iterable[Demand]) -> tuple[Demand, ...]:
    """One demand for each memory and direction."""
    merged: dict[tuple[str, bool], tuple[int, int]] = {}
    for memory, write, size_bytes, accesses, _, _ in demands:
        before = merged.get((memory, write), (0, 0))
        merged[memory, write] = (before[0] + size_bytes, before[1] + accesses)
    return tuple([Demand(*way, *amount) for way, amount in merged.items()])
