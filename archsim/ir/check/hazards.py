"""Hazards inside one tensor or ring, for every token-legal interleaving at once.

Three rules, in this order; each assumes the ones before it:

1. **race**: of two commands of different queues that touch the same bytes, one of them writing, one happens-before
   the other;
2. **reuse**: before the writer of a ring goes around to a byte again, every reader that had it earlier has finished;
3. **unwritten**: the writes that happen-before a read cover its bytes (tensors that are preloaded hold data already).

Bounding intervals decide almost everything; only what they cannot clear is compared byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archsim.errors import ProgramError
from archsim.ir.check.accesses import Accesses, Store
from archsim.ir.check.exact import meet, missing_byte
from archsim.ir.check.tokens import Order
from archsim.ir.program import Ring

IntArray = NDArray[np.int64]
PAIRS_AT_ONCE = 1 << 20  # candidate pairs expanded together: bounds the memory of the race check


def check_hazards(stores: Sequence[Store], order: Order) -> None:
    """Raise ProgramError for the first race, early reuse or read of unwritten bytes."""
    for store in stores:
        for writes in store.changes:
            for others in (*store.reads, *(more for more in store.changes if more.queue > writes.queue)):
                if others.queue != writes.queue:
                    _check_race(store, order, writes, others)
    for store in stores:
        _check_reuse(store, order)
        for reads in store.reads:
            _check_written(store, order, reads)


def _check_race(store: Store, order: Order, writes: Accesses, others: Accesses) -> None:
    """Writes that are neither before nor after an access of another queue form a range; it must not meet it."""
    if not _boxes_meet(writes, others):
        return
    ended = order.clocks[others.queue][others.index, writes.queue]
    begin = np.searchsorted(writes.index, ended, side="left")
    started = order.clocks[writes.queue][writes.index, others.queue]
    end = np.searchsorted(started, others.index, side="right")
    open_ = np.flatnonzero(end > begin)
    sizes = (end - begin)[open_]
    ends = np.cumsum(sizes)
    for first in range(0, int(ends[-1]) if len(ends) else 0, PAIRS_AT_ONCE):
        pairs = np.arange(first, min(first + PAIRS_AT_ONCE, int(ends[-1])))
        at = np.searchsorted(ends, pairs, side="right")
        other = open_[at]
        write = begin[other] + pairs - (ends - sizes)[at]
        _check_pairs(store, writes, write, others, other)


def _check_pairs(store: Store, writes: Accesses, write: IntArray, others: Accesses, other: IntArray) -> None:
    close = (writes.low[write] < others.high[other]) & (others.low[other] < writes.high[write])
    for w, o in zip(write[close].tolist(), other[close].tolist(), strict=True):
        shared = meet(store, writes, w, others, o)
        if shared is not None:
            verb = "writes" if any(others is item for item in store.changes) else "reads"
            raise ProgramError(
                f"race: {store.who(writes, w)} writes and {store.who(others, o)} {verb} "
                f"{store.bytes_text(*shared)}, and neither happens before the other"
            )


def _boxes_meet(one: Accesses, two: Accesses) -> bool:
    if not len(one.index) or not len(two.index):
        return False
    return bool(one.low.min() < two.high.max() and two.low.min() < one.high.max())


def _check_reuse(store: Store, order: Order) -> None:
    if not isinstance(store.item, Ring):
        return
    for writes in store.writes:
        for reads in store.reads:
            if reads.queue == writes.queue:
                continue
            last = _last_below(reads, writes.high - store.item.size_bytes)
            ended = order.clocks[writes.queue][writes.index, reads.queue]
            late = np.flatnonzero((last >= 0) & (ended <= reads.index[last]))
            if len(late):
                w = int(late[0])
                r = int(last[w])
                raise ProgramError(
                    f"live slot overwritten: {store.who(writes, w)} writes "
                    f"{store.bytes_text(int(writes.low[w]), int(writes.high[w]))} before {store.who(reads, r)} has "
                    f"surely read {store.bytes_text(int(reads.low[r]), int(reads.high[r]))}, which lies there"
                )


def _last_below(accesses: Accesses, bound: IntArray) -> IntArray:
    """Position of the last access that begins below each ``bound``; -1 for none."""
    lowest_from = np.minimum.accumulate(accesses.low[::-1])[::-1]
    return np.searchsorted(lowest_from, bound, side="left") - 1


def _check_written(store: Store, order: Order, reads: Accesses) -> None:
    if getattr(store.item, "preloaded", False):
        return
    cleared = _inside_union(store.writes, reads)
    for writes in store.writes:
        cleared &= _surely_before(order, reads, _last_below(writes, reads.high), writes)
    if cleared.all():
        return
    cleared |= _same_tile_before(store.writes, order, reads)
    for at in np.flatnonzero(~cleared).tolist():
        before = [_ended_before(order, reads, at, writes) for writes in store.writes]
        missing = missing_byte(store, reads, at, before)
        if missing is not None:
            raise ProgramError(
                f"read of unwritten bytes: {store.who(reads, at)} reads "
                f"{store.bytes_text(int(reads.low[at]), int(reads.high[at]))}, "
                f"but nothing before it has written {store.bytes_text(missing, missing + 1)}"
            )


def _inside_union(parts: Sequence[Accesses], reads: Accesses) -> NDArray[np.bool_]:
    """Whether each read lies in one stretch of the union of all written intervals, whenever written."""
    low = np.concatenate([part.low for part in parts]) if parts else np.empty(0, dtype=np.int64)
    if not len(low):
        return np.zeros(len(reads.index), dtype=np.bool_)
    high = np.concatenate([part.high for part in parts])
    order = np.argsort(low, kind="stable")
    low, high = low[order], np.maximum.accumulate(high[order])
    first = np.concatenate(([True], low[1:] > high[:-1]))
    last = np.concatenate((first[1:], [True]))
    stretch = np.searchsorted(low[first], reads.low, side="right") - 1
    inside: NDArray[np.bool_] = (stretch >= 0) & (high[last][stretch] >= reads.high)
    return inside


def _surely_before(order: Order, reads: Accesses, last: IntArray, writes: Accesses) -> NDArray[np.bool_]:
    """Whether write number ``last`` (-1: none) happens before each read."""
    ended = order.clocks[reads.queue][reads.index, writes.queue]
    before: NDArray[np.bool_] = (last < 0) | (writes.index[last] < ended)
    return before


def _same_tile_before(parts: Sequence[Accesses], order: Order, reads: Accesses) -> NDArray[np.bool_]:
    """Whether a write of exactly the same interval happens before each read (an accumulator's earlier round)."""
    found = np.zeros(len(reads.index), dtype=np.bool_)
    for part in parts:
        first: dict[tuple[int, int], int] = {}
        for low, high, index in zip(part.low.tolist(), part.high.tolist(), part.index.tolist(), strict=True):
            first.setdefault((low, high), index)
        never = len(order.clocks[part.queue])
        tiles = zip(reads.low.tolist(), reads.high.tolist(), strict=True)
        index = np.array([first.get(tile, never) for tile in tiles], dtype=np.int64)
        found |= index < order.clocks[reads.queue][reads.index, part.queue]
    return found


def _ended_before(order: Order, reads: Accesses, at: int, writes: Accesses) -> Accesses:
    """Writes that happen before read number ``at`` and come near it."""
    ended = order.clocks[reads.queue][reads.index[at], writes.queue]
    near = (writes.low < reads.high[at]) & (reads.low[at] < writes.high) & (writes.index < ended)
    return writes.pick(near)
