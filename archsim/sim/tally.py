"""Action counts and the bandwidth trace: every part writes here what it did, when it has done it.

Commands that are alike repeat the same actions, so a ``CommandBill`` is written once and stamped at each repetition;
the sums are those of writing every action down.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from archsim.base.arrays import IntArray
from archsim.ir.activity import CountKey, RoleKey, split_account
from archsim.ir.bandwidth import FIELDS, ON_CHIP, BandwidthStreams, BandwidthTrace
from archsim.ir.rows import Bandwidth
from archsim.sim.planned_streams import PlannedStreams
from archsim.sim.protocols import Demand
from archsim.spec.network import part_of


class TallyEntry(NamedTuple):
    """``amount`` times ``action`` of ``part``."""

    part: str
    action: str
    amount: int


class CommandBill:
    """The actions of one command, and how often they were performed for each account."""

    __slots__ = ("entries", "times")

    def __init__(self, entries: tuple[TallyEntry, ...]) -> None:
        self.entries = entries
        self.times: defaultdict[str, int] = defaultdict(int)


class Tally:
    """Counts by (account, part, action), and who moved bytes when, if that ``is_traced``.

    An account is a layer, or a layer and a role (``archsim.ir.activity.charged_to``).
    """

    def __init__(self, *, trace: bool) -> None:
        self._bills: list[CommandBill] = []
        self._counts: dict[CountKey, int] = {}
        self.is_traced = trace
        self._transfers: dict[str, array[int]] = {}  # DRAM part -> its streams, one after the other
        self._streams: dict[str, array[int]] = {}  # on-chip memory -> its streams without what only DRAM has
        self._planned: PlannedStreams | None = None

    def bill(self, entries: Iterable[TallyEntry]) -> CommandBill:
        """A bill to be stamped with ``bill.times[account] += 1`` whenever its actions were performed."""
        bill = CommandBill(tuple([entry for entry in entries if entry.amount]))
        self._bills.append(bill)
        return bill

    def add(self, account: str, part: str, action: str, amount: int) -> None:
        """Count ``amount`` actions now."""
        key = (account, part, action)
        self._counts[key] = self._counts.get(key, 0) + amount

    def moved(self, stream: Bandwidth) -> None:
        """Put a stream on the bandwidth trace."""
        if self.is_traced and stream.size_bytes:
            self._transfers.setdefault(stream.memory, array("q")).extend(stream[1:])

    def transfers(self, memory: str, rows: IntArray) -> None:
        """Put transfers of a DRAM on the bandwidth trace, shape (transfers, fields of Bandwidth behind the memory)."""
        if len(rows):
            self._transfers.setdefault(memory, array("q")).frombytes(np.ascontiguousarray(rows).tobytes())

    def streamed(self, demands: tuple[Demand, ...], start_ps: int, end_ps: int) -> None:
        """Put the streams of a command on the bandwidth trace."""
        if not self.is_traced:
            return
        streams = self._streams
        for demand in demands:
            if demand[2]:
                cells = streams.get(demand[0])
                if cells is None:
                    cells = streams[demand[0]] = array("q")
                cells.extend((start_ps, end_ps, demand[2], demand[1]))

    def plan(self, streams: PlannedStreams) -> None:
        """Put the streams of planned commands on the bandwidth trace."""
        self._planned = streams

    def counts(self) -> Mapping[CountKey, int]:
        """All counts so far by layer, sorted by key; actions never performed are absent."""
        found: dict[CountKey, int] = {}
        for (account, part, action), amount in self._total().items():
            key = (split_account(account)[0], part, action)
            found[key] = found.get(key, 0) + amount
        return {key: found[key] for key in sorted(found) if found[key]}

    def roles(self, parts: Collection[str]) -> Mapping[RoleKey, int]:
        """What moves did in these ``parts`` by layer and role, sorted by key."""
        found: dict[RoleKey, int] = {}
        for (account, part, action), amount in self._total().items():
            layer, role = split_account(account)
            if role and part in parts and amount:
                key = (layer, role, part, action)
                found[key] = found.get(key, 0) + amount
        return {key: found[key] for key in sorted(found)}

    def _total(self) -> dict[CountKey, int]:
        """All counts so far by account."""
        total = dict(self._counts)
        for bill in self._bills:
            for account, times in bill.times.items():
                for part, action, amount in bill.entries:
                    key = (account, part, action)
                    total[key] = total.get(key, 0) + amount * times
        return total

    def bandwidth(self) -> BandwidthTrace:
        """The trace by memory and start, empty when it was not asked for; it is handed over, none is kept."""
        found = {name: BandwidthStreams.of(_table(self._transfers.pop(name), FIELDS)) for name in [*self._transfers]}
        return BandwidthTrace(found, OnChipStreams(self._streams, self._planned))


@dataclass(frozen=True, slots=True)
class OnChipStreams:
    """Streams on memories on chip: those of single commands by memory, and those of planned ones."""

    streams: Mapping[str, array[int]]
    planned: PlannedStreams | None

    def __call__(self) -> dict[str, BandwidthStreams]:
        """By memory."""
        tables = {memory: [_table(cells, ON_CHIP)] for memory, cells in self.streams.items()}
        for memory, table in self.planned.tables().items() if self.planned is not None else ():
            tables.setdefault(memory, []).append(table)
        return {memory: BandwidthStreams.of(np.concatenate(parts)) for memory, parts in tables.items()}


def _table(cells: array[int], fields: Sequence[str]) -> IntArray:
    """Rows of ``fields``, which stand one after the other."""
    return np.frombuffer(cells, dtype=np.int64).reshape(-1, len(fields))


def memory_entries(demands: Iterable[Demand]) -> list[TallyEntry]:
    """Bytes and word accesses of on-chip streams, by part: all cores' copies of a memory are one."""
    entries = []
    for demand in demands:
        kind, part = "write" if demand.write else "read", part_of(demand.memory)
        entries.append(TallyEntry(part, f"{kind}_bytes", demand.size_bytes))
        entries.append(TallyEntry(part, f"{kind}_accesses", demand.accesses))
    return entries
