"""What the compiled machine has to know of the streams of a command."""

from __future__ import annotations

from fractions import Fraction

from archsim.memory.memory_port import BankConflict, MemoryPort, PortStreams
from archsim.sim.protocols import ConflictFacts, ShareFacts, StreamFacts
from archsim.spec.network import core_of, part_of


def stream_facts(streams: PortStreams, *, placed: bool) -> StreamFacts:
    """``placed``: its streams lie where they are; else where the operands of the command do."""
    conflicts: dict[MemoryPort, list[ConflictFacts]] = {}
    if not placed or streams.turns:
        turns = streams.turns or (0,) * len(streams.conflicts)
        for conflict, turn in zip(streams.conflicts, turns, strict=True):
            conflicts.setdefault(conflict.port, []).append(_conflict(conflict, turn, placed))
    peaks = dict(streams.peaks)
    shares = []
    for port, share in streams.exact.items():
        memory, _, way = port.name.partition(".")
        of_port = tuple(conflicts.get(port, ()))
        even = streams.even[port] if of_port else Fraction(0)
        peak = peaks[port] if of_port else 0.0
        shares.append(ShareFacts(part_of(memory), core_of(memory), way, share, even, peak, of_port))
    return StreamFacts(Fraction(streams.cycles), streams.whole_cycles, tuple(shares))


def _conflict(conflict: BankConflict, turn: int, placed: bool) -> ConflictFacts:
    banking, place = conflict.banking, conflict.place
    granule = banking.granule_bytes
    if placed:
        return ConflictFacts(None, turn, 1, 1, tuple(conflict.loads), conflict.unit)
    period = banking.period_bytes // granule
    return ConflictFacts(place.operand, place.shift, granule, period, tuple(conflict.loads), conflict.unit)
