"""Hazards judged by bounding intervals: of whole groups, then of single accesses, then byte by byte.

First a whole group, all that one queue reads or writes of a store, is held against another: does it come before or
after all of it? What that leaves open is asked access by access, of all stores at once, and clears most.

The few stores that are still open are looked at one by one, each pair of accesses with the same questions; only what
bounding intervals cannot clear is compared byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import BoolArray, IntArray
from archsim.base.errors import ProgramError
from archsim.ir.check.hazards.accesses import (
    AT_ONCE,
    READS,
    WRITES,
    AccessGroups,
    AccessTable,
    CheckedStore,
    QueueAccesses,
    pairs_below,
    pairs_within,
)
from archsim.ir.check.hazards.bytes import meet, missing_byte
from archsim.ir.check.hazards.states import held_at_start, is_state, ragged, states
from archsim.ir.check.tokens.clocks import Clocks
from archsim.ir.check.tokens.run import HappensBefore
from archsim.ir.program import PlacedTensor, Ring


@dataclass(frozen=True, slots=True)
class OpenGroups:
    """What whole groups leave open, by group number in ascending order.

    ``races``: pairs, neither surely before the other, shape (n, 2); ``reused``: reads of rings to which the writer may
    come around; ``unsure``: reads of what may not be written yet.
    """

    races: IntArray
    reused: IntArray
    unsure: IntArray


def leave_open(
    items: Sequence[PlacedTensor | Ring], groups: AccessGroups, clocks: Clocks, outside: BoolArray
) -> OpenGroups:
    """Ask every pair of groups of one store of which one writes. ``clocks``: of the first command of each; ``outside``:
    groups of reads of what is never written, by bounding intervals."""
    rings = np.array([isinstance(item, Ring) for item in items], dtype=np.bool_)
    sizes = np.array([item.size_bytes for item in items], dtype=np.int64)
    loaded = np.array([isinstance(item, PlacedTensor) and item.preloaded for item in items], dtype=np.bool_)
    races, reused = [np.empty((0, 2), dtype=np.int64)], np.zeros(len(groups.store), dtype=np.bool_)
    unsure = outside.copy()
    for lower, upper in pairs_below(np.searchsorted(groups.store, groups.store, side="right")):
        keep = _near(groups, lower, upper)
        one, two = lower[keep], upper[keep]
        filled = (groups.kind[one] == READS) & (groups.kind[two] == WRITES)
        other = groups.queue[one] != groups.queue[two]
        after = clocks.ended(one, groups.queue[two]) > groups.last[two]
        ordered = after | (clocks.ended(two, groups.queue[one]) > groups.last[one])
        meet = groups.low[one] < groups.high[two]
        races.append(np.stack((one, two), axis=1)[other & meet & ~ordered])
        unsure[one[filled & ~after]] = True
        store = groups.store[one]
        around = groups.high[two] - sizes[store] > groups.low[one]
        reused[one[filled & other & rings[store] & around]] = True
    unsure |= (groups.kind == READS) & states(items)[groups.store]
    unsure &= ~(loaded | ragged(items))[groups.store]
    return OpenGroups(np.concatenate(races), np.flatnonzero(reused), np.flatnonzero(unsure))


def _near(groups: AccessGroups, one: IntArray, two: IntArray) -> BoolArray:
    """Pairs to ask about: one writes, and they may meet or reads come after what is written below their end."""
    filled = (groups.kind[one] == READS) & (groups.kind[two] == WRITES)
    near = (groups.low[two] < groups.high[one]) & ((groups.low[one] < groups.high[two]) | filled)
    found: BoolArray = near & (groups.kind[two] != READS)
    return found


def outside_written(uses: AccessTable) -> BoolArray:
    """Groups of reads, some of which do not lie in one stretch of all that is written in their store, whenever."""
    outside = np.zeros(len(uses.groups.store), dtype=np.bool_)
    reads = (uses.groups.kind == READS)[uses.group]
    outside[uses.group[reads & ~inside_written(uses.groups, uses.group, uses.low, uses.high)]] = True
    return outside


def inside_written(groups: AccessGroups, group: IntArray, low: IntArray, high: IntArray) -> BoolArray:
    """Whether each interval, of a ``group``, lies in one stretch of all that is written in its store, whenever."""
    room = np.zeros(int(groups.store.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(room, groups.store, groups.high + 1)
    base = (np.cumsum(room) - room)[groups.store][group]
    low, high, writes = low + base, high + base, (groups.kind == WRITES)[group]
    return inside_union(low[writes], high[writes], low, high)


def inside_union(low: IntArray, high: IntArray, first: IntArray, end: IntArray) -> BoolArray:
    """Whether each [``first``, ``end``) lies in one stretch of the union of all [``low``, ``high``)."""
    if not len(low):
        return np.zeros(len(first), dtype=np.bool_)
    order = np.argsort(low, kind="stable")
    low, high = low[order], np.maximum.accumulate(high[order])
    opens = np.concatenate(([True], low[1:] > high[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    stretch = np.searchsorted(low[opens], first, side="right") - 1
    inside: BoolArray = (stretch >= 0) & (high[closes][stretch] >= end)
    return inside


class SingleAccesses:
    """The accesses of ``uses`` in their ``order``."""

    def __init__(self, uses: AccessTable, order: HappensBefore) -> None:
        self.uses, self.order = uses, order
        self._stride = int(order.counts.max(initial=0)) + 1

    def racing(self, pairs: IntArray) -> IntArray:
        """Of ``pairs`` of groups (one that writes, another), shape (n, 2), those that an order of their accesses and
        their bytes do not clear."""
        groups, uses, order = self.uses.groups, self.uses, self.order
        found = np.zeros(len(pairs), dtype=np.bool_)
        writes, others = pairs[:, 0], pairs[:, 1]
        pair, row = self._rows(others)
        ended = order.ended(groups.queue[others][pair], uses.index[row], groups.queue[writes][pair])
        begin = np.searchsorted(self._index_keys, writes[pair] * self._stride + ended, side="left")
        of, at = self._rows(writes)
        started = order.ended(groups.queue[writes][of], uses.index[at], groups.queue[others][of])
        end = np.searchsorted(of * self._stride + started, pair * self._stride + uses.index[row], side="right")
        sizes = groups.end[writes] - groups.begin[writes]
        end += (groups.begin[writes] - (np.cumsum(sizes) - sizes))[pair]
        for other, write in pairs_within(begin, end):
            close = (uses.low[write] < uses.high[row[other]]) & (uses.low[row[other]] < uses.high[write])
            found[pair[other[close]]] = True
        return pairs[found]

    def reused(self, reads: IntArray) -> BoolArray:
        """Groups of reads of rings whose bytes a writer may come around to too early."""
        groups, uses = self.uses.groups, self.uses
        found = np.zeros(len(reads), dtype=np.bool_)
        which, writes = self._writes_of(reads)
        other = groups.queue[writes] != groups.queue[reads[which]]
        which, writes = which[other], writes[other]
        sizes = np.array([item.size_bytes for item in uses.items], dtype=np.int64)[groups.store]
        pair, row = self._rows(writes)
        group = reads[which[pair]]
        last = self._last_below(group, uses.high[row] - sizes[group])
        ended = self.order.ended(groups.queue[writes[pair]], uses.index[row], groups.queue[group])
        late = (last >= 0) & (ended <= uses.index[last])
        found[which[pair[late]]] = True
        return found

    def unsure(self, reads: IntArray) -> BoolArray:
        """Groups of reads some of which may come before what they read is written; all of states, where what is there
        at time 0 and what is appended are told apart byte by byte."""
        groups, uses = self.uses.groups, self.uses
        which, rows = self._rows(reads)
        missing, same = ~self._inside[rows], np.zeros(len(rows), dtype=np.bool_)
        sizes = groups.end[reads] - groups.begin[reads]
        firsts = np.cumsum(sizes) - sizes
        of, writes = self._writes_of(reads)
        for pair, at in pairs_within(firsts[of], (firsts + sizes)[of]):
            row, write, queue = rows[at], writes[pair], groups.queue[reads[of[pair]]]
            ended = self.order.ended(queue, uses.index[row], groups.queue[write])
            last, first = self._last_below(write, uses.high[row]), self._first_same(write, row)
            missing[at[(last >= 0) & (uses.index[last] >= ended)]] = True
            same[at[(first >= 0) & (uses.index[first] < ended)]] = True
        found = np.zeros(len(reads), dtype=np.bool_)
        found[which[missing & ~same]] = True
        return found | states(uses.items)[groups.store[reads]]

    @cached_property
    def _inside(self) -> BoolArray:
        uses = self.uses
        return inside_written(uses.groups, uses.group, uses.low, uses.high)

    @cached_property
    def _index_keys(self) -> IntArray:
        """Group and command of every row in one number, ascending."""
        keys: IntArray = self.uses.group * self._stride + self.uses.index
        return keys

    @cached_property
    def _lows(self) -> tuple[IntArray, IntArray]:
        """All first bytes in order; and of each row its group and the least place there from it on, ascending."""
        ordered = np.unique(self.uses.low)
        keys = self.uses.group * (len(ordered) + 1) + np.searchsorted(ordered, self.uses.low)
        return ordered, np.minimum.accumulate(keys[::-1])[::-1]

    def _last_below(self, group: IntArray, bound: IntArray) -> IntArray:
        """Row of the last access of each ``group`` that begins below each ``bound``; -1 for none."""
        ordered, keys = self._lows
        wanted = group * (len(ordered) + 1) + np.searchsorted(ordered, bound, side="left")
        last = np.searchsorted(keys, wanted, side="left") - 1
        return np.where(last < self.uses.groups.begin[group], -1, last)

    @cached_property
    def _intervals(self) -> tuple[IntArray, IntArray, IntArray]:
        """A number of each row's interval; and the rows by group and interval in one number, ascending, in order."""
        _, low = np.unique(self.uses.low, return_inverse=True)
        _, high = np.unique(self.uses.high, return_inverse=True)
        _, number = np.unique(low * (len(high) + 1) + high, return_inverse=True)
        keys = self.uses.group * (len(number) + 1) + number
        rows = np.argsort(keys, kind="stable")
        return number, keys[rows], rows

    def _first_same(self, group: IntArray, row: IntArray) -> IntArray:
        """The first access of each ``group`` with exactly the interval of each ``row``; -1 for none."""
        number, keys, rows = self._intervals
        wanted = group * (len(number) + 1) + number[row]
        at = np.minimum(np.searchsorted(keys, wanted, side="left"), len(keys) - 1)
        return np.where(keys[at] == wanted, rows[at], -1)

    def _rows(self, groups: IntArray) -> tuple[IntArray, IntArray]:
        """Place in ``groups`` and row of each of their accesses."""
        begin = self.uses.groups.begin[groups]
        sizes = self.uses.groups.end[groups] - begin
        which = np.repeat(np.arange(len(groups)), sizes)
        return which, np.arange(len(which)) + (begin - (np.cumsum(sizes) - sizes))[which]

    def _writes_of(self, reads: IntArray) -> tuple[IntArray, IntArray]:
        """Place in ``reads`` and group of all that writes their stores."""
        groups = self.uses.groups
        key, wanted = groups.store * 4 + groups.kind, groups.store[reads] * 4 + WRITES
        begin = np.searchsorted(key, wanted, side="left")
        sizes = np.searchsorted(key, wanted, side="right") - begin
        which = np.repeat(np.arange(len(reads)), sizes)
        return which, np.arange(len(which)) + (begin - (np.cumsum(sizes) - sizes))[which]


def check_race(
    store: CheckedStore, order: HappensBefore, writes: QueueAccesses, others: QueueAccesses, verb: str
) -> None:
    """Raise ProgramError where writes race with accesses of another queue.

    Those that are neither before nor after an access form a range; it must not meet it. ``verb``: what others do.
    """
    ended = order.ended(others.queue, others.index, writes.queue)
    begin = np.searchsorted(writes.index, ended, side="left")
    started = order.ended(writes.queue, writes.index, others.queue)
    end = np.searchsorted(started, others.index, side="right")
    open_ = np.flatnonzero(end > begin)
    sizes = (end - begin)[open_]
    ends = np.cumsum(sizes)
    for first in range(0, int(ends[-1]) if len(ends) else 0, AT_ONCE):
        pairs = np.arange(first, min(first + AT_ONCE, int(ends[-1])))
        at = np.searchsorted(ends, pairs, side="right")
        other = open_[at]
        write = begin[other] + pairs - (ends - sizes)[at]
        _check_pairs(store, writes, write, others, other, verb)


def _check_pairs(
    store: CheckedStore, writes: QueueAccesses, write: IntArray, others: QueueAccesses, other: IntArray, verb: str
) -> None:
    close = (writes.low[write] < others.high[other]) & (others.low[other] < writes.high[write])
    for w, o in zip(write[close].tolist(), other[close].tolist(), strict=True):
        shared = meet(store, writes, w, others, o)
        if shared is not None:
            raise ProgramError(
                f"race: {store.who(writes, w)} writes and {store.who(others, o)} {verb} "
                f"{store.bytes_text(*shared)}, and neither happens before the other"
            )


def check_reuse(store: CheckedStore, order: HappensBefore) -> None:
    """Raise ProgramError where the writer of a ring goes around to a byte that a reader may still have to read."""
    if not isinstance(store.item, Ring):
        return
    for writes in store.writes:
        for reads in store.reads:
            if reads.queue == writes.queue:
                continue
            last = _last_below(reads, writes.high - store.item.size_bytes)
            ended = order.ended(writes.queue, writes.index, reads.queue)
            late = np.flatnonzero((last >= 0) & (ended <= reads.index[last]))
            if len(late):
                w = int(late[0])
                r = int(last[w])
                raise ProgramError(
                    f"live slot overwritten: {store.who(writes, w)} writes "
                    f"{store.bytes_text(int(writes.low[w]), int(writes.high[w]))} before {store.who(reads, r)} has "
                    f"surely read {store.bytes_text(int(reads.low[r]), int(reads.high[r]))}, which lies there"
                )


def _last_below(accesses: QueueAccesses, bound: IntArray) -> IntArray:
    """Position of the last access that begins below each ``bound``; -1 for none."""
    lowest_from = np.minimum.accumulate(accesses.low[::-1])[::-1]
    return np.searchsorted(lowest_from, bound, side="left") - 1


def check_written(store: CheckedStore, order: HappensBefore, reads: QueueAccesses) -> None:
    """Raise ProgramError for the first of ``reads`` whose bytes the writes that happen before it do not cover."""
    cleared = _loaded(store.item, reads) if is_state(store.item) else _written(store, order, reads)
    for at in np.flatnonzero(~cleared).tolist():
        before = [_ended_before(order, reads, at, writes) for writes in store.writes]
        missing = missing_byte(store, reads, at, before)
        if missing is not None:
            raise ProgramError(
                f"read of unwritten bytes: {store.who(reads, at)} reads "
                f"{store.bytes_text(int(reads.low[at]), int(reads.high[at]))}, "
                f"but nothing before it has written {store.bytes_text(missing, missing + 1)}"
            )


def _loaded(item: PlacedTensor | Ring, reads: QueueAccesses) -> BoolArray:
    """Whether each read lies in one stretch of what a state holds at time 0."""
    return inside_union(*held_at_start(item), reads.low, reads.high)


def _written(store: CheckedStore, order: HappensBefore, reads: QueueAccesses) -> BoolArray:
    """Whether each read surely comes after what it reads is written, as far as intervals tell."""
    cleared = _inside(store.writes, reads)
    for writes in store.writes:
        cleared &= _surely_before(order, reads, _last_below(writes, reads.high), writes)
    return cleared if cleared.all() else cleared | _same_tile_before(store.writes, order, reads)


def _inside(parts: Sequence[QueueAccesses], reads: QueueAccesses) -> NDArray[np.bool_]:
    """Whether each read lies in one stretch of all that is ever written."""
    empty: list[IntArray] = [np.empty(0, dtype=np.int64)]
    low = np.concatenate(empty + [part.low for part in parts])
    high = np.concatenate(empty + [part.high for part in parts])
    return inside_union(low, high, reads.low, reads.high)


def _surely_before(
    order: HappensBefore, reads: QueueAccesses, last: IntArray, writes: QueueAccesses
) -> NDArray[np.bool_]:
    """Whether write number ``last`` (-1: none) happens before each read."""
    ended = order.ended(reads.queue, reads.index, writes.queue)
    before: NDArray[np.bool_] = (last < 0) | (writes.index[last] < ended)
    return before


def _same_tile_before(parts: Sequence[QueueAccesses], order: HappensBefore, reads: QueueAccesses) -> NDArray[np.bool_]:
    """Whether a write of exactly the same interval happens before each read (an accumulator's earlier round)."""
    found = np.zeros(len(reads.index), dtype=np.bool_)
    for part in parts:
        first: dict[tuple[int, int], int] = {}
        for low, high, index in zip(part.low.tolist(), part.high.tolist(), part.index.tolist(), strict=True):
            first.setdefault((low, high), index)
        never = int(order.counts[part.queue])
        tiles = zip(reads.low.tolist(), reads.high.tolist(), strict=True)
        index = np.array([first.get(tile, never) for tile in tiles], dtype=np.int64)
        found |= index < order.ended(reads.queue, reads.index, part.queue)
    return found


def _ended_before(order: HappensBefore, reads: QueueAccesses, at: int, writes: QueueAccesses) -> QueueAccesses:
    """Writes that happen before read number ``at`` and come near it."""
    ended = order.ended(reads.queue, reads.index[at], writes.queue)
    near = (writes.low < reads.high[at]) & (reads.low[at] < writes.high) & (writes.index < ended)
    return writes.pick(near)
