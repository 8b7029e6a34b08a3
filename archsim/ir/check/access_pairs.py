"""The hazards of one store, access by access: what whole groups do not settle.

Bounding intervals decide almost everything; only what they cannot clear is compared byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archsim.base.errors import ProgramError
from archsim.ir.check.accesses import Accesses, Store
from archsim.ir.check.exact import meet, missing_byte
from archsim.ir.check.tokens import Order
from archsim.ir.check.uses import AT_ONCE
from archsim.ir.check.whole_groups import inside_union
from archsim.ir.program import Ring

IntArray = NDArray[np.int64]


def check_race(store: Store, order: Order, writes: Accesses, others: Accesses, verb: str) -> None:
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


def _check_pairs(store: Store, writes: Accesses, write: IntArray, others: Accesses, other: IntArray, verb: str) -> None:
    close = (writes.low[write] < others.high[other]) & (others.low[other] < writes.high[write])
    for w, o in zip(write[close].tolist(), other[close].tolist(), strict=True):
        shared = meet(store, writes, w, others, o)
        if shared is not None:
            raise ProgramError(
                f"race: {store.who(writes, w)} writes and {store.who(others, o)} {verb} "
                f"{store.bytes_text(*shared)}, and neither happens before the other"
            )


def check_reuse(store: Store, order: Order) -> None:
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


def _last_below(accesses: Accesses, bound: IntArray) -> IntArray:
    """Position of the last access that begins below each ``bound``; -1 for none."""
    lowest_from = np.minimum.accumulate(accesses.low[::-1])[::-1]
    return np.searchsorted(lowest_from, bound, side="left") - 1


def check_written(store: Store, order: Order, reads: Accesses) -> None:
    """Raise ProgramError for the first of ``reads`` whose bytes the writes that happen before it do not cover."""
    cleared = _inside(store.writes, reads)
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


def _inside(parts: Sequence[Accesses], reads: Accesses) -> NDArray[np.bool_]:
    """Whether each read lies in one stretch of all that is ever written."""
    empty: list[IntArray] = [np.empty(0, dtype=np.int64)]
    low = np.concatenate(empty + [part.low for part in parts])
    high = np.concatenate(empty + [part.high for part in parts])
    return inside_union(low, high, reads.low, reads.high)


def _surely_before(order: Order, reads: Accesses, last: IntArray, writes: Accesses) -> NDArray[np.bool_]:
    """Whether write number ``last`` (-1: none) happens before each read."""
    ended = order.ended(reads.queue, reads.index, writes.queue)
    before: NDArray[np.bool_] = (last < 0) | (writes.index[last] < ended)
    return before


def _same_tile_before(parts: Sequence[Accesses], order: Order, reads: Accesses) -> NDArray[np.bool_]:
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


def _ended_before(order: Order, reads: Accesses, at: int, writes: Accesses) -> Accesses:
    """Writes that happen before read number ``at`` and come near it."""
    ended = order.ended(reads.queue, reads.index[at], writes.queue)
    near = (writes.low < reads.high[at]) & (reads.low[at] < writes.high) & (writes.index < ended)
    return writes.pick(near)
