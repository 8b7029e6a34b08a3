"""On-chip memories that commands read and write explicitly: scratchpads, buffers, FIFOs, accumulators.

A memory moves ``banks x word x ports`` bytes per edge of its clock in each direction; with shared ports, in both
together. Modelled: port bandwidth, word accesses (a run of bytes costs whole words). Not modelled: bank conflicts,
access latency (pipelined; part of the engines' start-up).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil

from archsim.errors import ProgramError
from archsim.memory.ports import Port, Ports, PortStreams
from archsim.sim.clock import Clock
from archsim.sim.engine import Cycles, Demand
from archsim.sim.kernel import Kernel
from archsim.spec.architecture import Memory


class Scratchpad:
    """One on-chip memory: its ports and its word."""

    def __init__(self, spec: Memory) -> None:
        self.name = spec.name
        self.word_bytes = spec.word_bytes
        read_bytes_per_s = spec.read_bytes_per_cycle * spec.clock_hz
        self.read = Port(f"{spec.name}.read", read_bytes_per_s)
        self.write = self.read
        if not spec.ports_shared:
            self.write = Port(f"{spec.name}.write", spec.write_bytes_per_cycle * spec.clock_hz)

    def port(self, *, write: bool) -> Port:
        """The port of one direction."""
        return self.write if write else self.read

    def accesses(self, size_bytes: int) -> int:
        """Word accesses of contiguous bytes."""
        return -(-size_bytes // self.word_bytes)


class Scratchpads:
    """All on-chip memories of the chip, as the engines see them (``sim.engine.Storage``)."""

    def __init__(self, specs: Iterable[Memory], kernel: Kernel) -> None:
        self._pads = {spec.name: Scratchpad(spec) for spec in specs}
        self._ports = Ports(kernel)

    def demand(self, memory: str, size_bytes: int, *, write: bool, accesses: int | None = None) -> Demand:
        """A stream of ``size_bytes``; ``accesses`` unless its bytes are contiguous.

        Raises ProgramError when ``memory`` is not on chip.
        """
        pad = self._pad(memory)
        return Demand(memory, write, size_bytes, pad.accesses(size_bytes) if accesses is None else accesses)

    def word_bytes(self, memory: str) -> int:
        """Bytes of one word; raises ProgramError when ``memory`` is not on chip."""
        return self._pad(memory).word_bytes

    def shortest(self, demands: Sequence[Demand], clock: Clock) -> Fraction:
        """Cycles of ``clock`` that ``demands`` take at least, alone on their ports."""
        seconds = (Fraction(size_bytes, port.bytes_per_s) for port, size_bytes in self._per_port(demands).items())
        return max(seconds, default=Fraction(0)) * clock.hz

    def streams(self, demands: Sequence[Demand], cycles: Cycles, clock: Clock) -> PortStreams:
        """Streams of a command of ``cycles`` cycles; raises ProgramError when bytes are to move in no time."""
        merged = _merged(demands)
        per_port = self._per_port(merged)
        if per_port and not cycles:
            raise ProgramError(f"{sum(per_port.values())} bytes are to be moved in 0 cycles")
        shares = {
            port: Fraction(size_bytes * clock.hz) / (cycles * port.bytes_per_s) for port, size_bytes in per_port.items()
        }
        rounded = tuple((port, float(share)) for port, share in shares.items())
        return PortStreams(self._ports, clock, cycles, merged, shares, rounded, ceil(cycles))

    def _per_port(self, demands: Iterable[Demand]) -> dict[Port, int]:
        total: dict[Port, int] = {}
        for demand in demands:
            if demand.size_bytes:
                port = self._pad(demand.memory).port(write=demand.write)
                total[port] = total.get(port, 0) + demand.size_bytes
        return total

    def _pad(self, memory: str) -> Scratchpad:
        found = self._pads.get(memory)
        if found is None:
            raise ProgramError(f"'{memory}' is not an on-chip memory; on chip are: {', '.join(self._pads) or 'none'}")
        return found


def _merged(demands: Iterable[Demand]) -> tuple[Demand, ...]:
    """One demand for each memory and direction."""
    merged: dict[tuple[str, bool], Demand] = {}
    for new in demands:
        key = (new.memory, new.write)
        old = merged.get(key, Demand(*key, 0, 0))
        merged[key] = Demand(*key, old.size_bytes + new.size_bytes, old.accesses + new.accesses)
    return tuple(merged.values())
