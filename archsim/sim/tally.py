"""Action counts and the bandwidth trace: every part writes here what it did, when it has done it.

Commands that are alike repeat the same actions, so a ``Bill`` is written once and stamped at each repetition; the sums
are those of writing every action down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from archsim.ir.activity import Bandwidth, CountKey
from archsim.sim.engine import Demand
from archsim.spec.network import part_of

_ON_CHIP = tuple(Bandwidth._field_defaults.values())  # what on-chip streams leave as it is


class Entry(NamedTuple):
    """``amount`` times ``action`` of ``part``."""

    part: str
    action: str
    amount: int


class Bill:
    """The actions of one command, and how often they were performed for each layer."""

    __slots__ = ("entries", "times")

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self.times: defaultdict[str, int] = defaultdict(int)


class Tally:
    """Counts by (layer, part, action), and who moved bytes when."""

    def __init__(self, *, trace: bool) -> None:
        self._bills: list[Bill] = []
        self._counts: dict[CountKey, int] = {}
        self._tracing = trace
        self._trace: list[Bandwidth] = []
        self._streamed: list[Any] = []  # demands, start, end; demands, start, end; ...: tuples of them take up memory

    def bill(self, entries: Iterable[Entry]) -> Bill:
        """A bill to be stamped with ``bill.times[layer] += 1`` whenever its actions were performed."""
        bill = Bill(tuple([entry for entry in entries if entry.amount]))
        self._bills.append(bill)
        return bill

    def add(self, layer: str, part: str, action: str, amount: int) -> None:
        """Count ``amount`` actions now."""
        key = (layer, part, action)
        self._counts[key] = self._counts.get(key, 0) + amount

    def moved(self, stream: Bandwidth) -> None:
        """Put a stream on the bandwidth trace."""
        if self._tracing and stream.size_bytes:
            self._trace.append(stream)

    def streamed(self, demands: tuple[Demand, ...], start_ps: int, end_ps: int) -> None:
        """Put the streams of a command on the bandwidth trace."""
        if self._tracing:
            self._streamed += demands, start_ps, end_ps

    def counts(self) -> Mapping[CountKey, int]:
        """All counts so far, sorted by key; actions never performed are absent."""
        total = dict(self._counts)
        for bill in self._bills:
            for layer, times in bill.times.items():
                for part, action, amount in bill.entries:
                    key = (layer, part, action)
                    total[key] = total.get(key, 0) + amount * times
        return {key: total[key] for key in sorted(total) if total[key]}

    def bandwidth(self) -> tuple[Bandwidth, ...]:
        """The trace by memory and start, empty when it was not asked for."""
        by_memory: defaultdict[str, list[Bandwidth]] = defaultdict(list)
        for entry in self._trace:
            by_memory[entry.memory].append(entry)
        new = tuple.__new__  # what Bandwidth(...) comes to, in half the time: there are many
        fields = iter(self._streamed)
        for demands, start_ps, end_ps in zip(fields, fields, fields, strict=True):
            for memory, write, size_bytes, *_ in demands:
                if size_bytes:
                    entry = new(Bandwidth, (memory, start_ps, end_ps, size_bytes, write, *_ON_CHIP))
                    by_memory[memory].append(entry)
        return tuple([entry for memory in sorted(by_memory) for entry in sorted(by_memory[memory])])


def memory_entries(demands: Iterable[Demand]) -> list[Entry]:
    """Bytes and word accesses of on-chip streams, by part: all cores' copies of a memory are one."""
    entries = []
    for demand in demands:
        kind, part = "write" if demand.write else "read", part_of(demand.memory)
        entries.append(Entry(part, f"{kind}_bytes", demand.size_bytes))
        entries.append(Entry(part, f"{kind}_accesses", demand.accesses))
    return entries
