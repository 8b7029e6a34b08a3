"""Rings whose protocol alone proves that they are used rightly, without happens-before.

A ring's queue holds one slot after the other: it takes token number k before it touches slot k, and signals it after
it has. Where every access lies between, so that no slot is touched after it was signalled, its reader comes after the
writer of the same slot and its writer after the readers of the slot that was there before. Nothing else shares a byte
of a ring without halos, so there is neither a race nor an early reuse; what is left to see is that the writes of a slot
cover its reads.

What a queue does with a ring follows from the runs of its texts in their nests. Cores do the same with rings of their
own, so that each **habit**, all that a queue does with one ring, is judged once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import BoolArray, IntArray
from archsim.ir.check.hazards.accesses import READS, SCATTERS, WRITES
from archsim.ir.check.hazards.collect import BEGIN, BOUNDS, KIND, OFFSET, QUEUE, STORE, OperandTable
from archsim.ir.check.tokens.places import TokenSides

TAKES, GIVES, TOUCHES = 0, 1, 2  # what a row of a habit says; TOUCHES + kind of access
NO_BYTES = 1 << 62
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], dtype=np.uint64)


class RingUsers(NamedTuple):
    """Numbers of ``ring`` and ``queue`` for the writer and each reader of every ring."""

    ring: IntArray
    queue: IntArray
    writes: BoolArray


class SlotBytes(NamedTuple):
    """Bytes [``low``, ``high``) of each slot: all that a writer writes, without a gap, or that a reader reads."""

    low: IntArray
    high: IntArray


def rightly_used(table: OperandTable) -> BoolArray:
    """Of each ring whether its protocol alone proves it."""
    rings, numbers = table.ledger.program.rings, table.ledger.numbers
    users = [
        (number, numbers[name], name == ring.writer)
        for number, ring in enumerate(rings)
        for name in (ring.writer, *ring.readers)
    ]
    ring, queue, writes = np.array(users, dtype=np.int64).reshape(-1, 3).T
    habit, judged = _judged(table, RingUsers(ring, queue, writes.astype(np.bool_)))
    proven = np.array([item.retain == 0 and item.writer not in item.readers for item in rings], dtype=np.bool_)
    missing = np.array([slots is None for slots in judged], dtype=np.bool_)
    proven[ring[missing[habit]]] = False
    writer = habit[np.flatnonzero(writes)][ring]
    reads = np.flatnonzero(proven[ring] & (writes == 0))
    pairs, which = np.unique(np.stack((writer[reads], habit[reads]), axis=1), axis=0, return_inverse=True)
    covered = [_covers(judged[one], judged[two]) for one, two in pairs.tolist()]
    proven[ring[reads[~np.array(covered, dtype=np.bool_)[which.ravel()]]]] = False
    return proven


def _covers(written: SlotBytes | None, read: SlotBytes | None) -> bool:
    """Whether what is read of each slot lies in what is written there."""
    if written is None or read is None or len(written.low) != len(read.low):
        return False
    return bool(((read.low >= written.low) & (read.high <= written.high) | (read.high < read.low)).all())


def _judged(table: OperandTable, users: RingUsers) -> tuple[IntArray, list[SlotBytes | None]]:
    """Number of the habit of each user; by number the bytes of its slots, None where the protocol proves nothing."""
    rows, first = _rows(table, users)
    chosen, habit, same = _habits(rows, first)
    judged = [
        _slot_bytes(table, rows[first[user] : first[user + 1]], bool(users.writes[user])) for user in chosen.tolist()
    ]
    return np.where(same, habit, len(judged)), [*judged, None]


def _habits(rows: IntArray, first: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Users that stand for those whose rows are equal, by number; the number of each user's, and whether its rows are
    indeed the same."""
    sizes = np.diff(first)
    rank = np.arange(len(rows)) - np.repeat(first[:-1], sizes)
    marks = _marks(rows, first, rank)
    _, chosen, habit = np.unique(marks, return_index=True, return_inverse=True)
    same = sizes == sizes[chosen][habit]
    at = np.repeat(first[:-1][chosen][habit], sizes) + rank
    unlike = (rows != rows[np.minimum(at, len(rows) - 1)]).any(axis=1)
    same[np.repeat(np.arange(len(sizes)), sizes)[unlike]] = False
    return chosen, habit, same


def _marks(rows: IntArray, first: IntArray, rank: IntArray) -> NDArray[np.uint64]:
    """Of the rows of each user together, which have a ``rank`` among them, a mark that is equal where they are."""
    with np.errstate(over="ignore"):
        each = np.zeros(len(rows), dtype=np.uint64)
        for column, odd, weight in zip(rows.T, _ODD, _ODD[::-1], strict=True):
            mixed = (column.astype(np.uint64) + np.uint64(1)) * odd
            each += (mixed ^ (mixed >> np.uint64(29))) * weight
        each *= 2 * rank.astype(np.uint64) + np.uint64(3)
        sums = np.append(np.uint64(0), np.cumsum(each, dtype=np.uint64))
    marks: NDArray[np.uint64] = sums[first[1:]] - sums[first[:-1]]
    return marks


def _rows(table: OperandTable, users: RingUsers) -> tuple[IntArray, IntArray]:
    """Of each user, from ``first[u]`` to ``first[u + 1]``: begin of the nest after that of its first one, what is done
    there, number of the run or of the bounds, offset; and ``first``."""
    ledger, tokens = table.ledger, table.ledger.taken.tokens
    takes = users.queue * tokens + 2 * users.ring + ~users.writes
    gives = users.queue * tokens + 2 * users.ring + users.writes
    found = _parts(ledger.taken, takes, TAKES), _parts(ledger.given, gives, GIVES), _touching(table, users)
    rows = np.concatenate(found)
    del found
    rows = rows[_in_order(rows)]
    first = np.searchsorted(rows[:, 0], np.arange(len(users.ring) + 1))
    opens = rows[np.minimum(first[:-1], max(len(rows) - 1, 0)), 1] if len(rows) else np.zeros_like(users.ring)
    rows[:, 1] -= np.repeat(opens, np.diff(first))
    return rows[:, 1:], first


def _touching(table: OperandTable, users: RingUsers) -> IntArray:
    """Rows (user, begin, what, bounds, offset) for what is touched of rings."""
    queues = len(table.ledger.steps)
    store = table.columns[:, STORE] - (len(table.items) - len(table.ledger.program.rings))
    on = np.flatnonzero(store >= 0)
    touched = table.columns[on]
    keys = users.ring * queues + users.queue
    order = np.argsort(keys, kind="stable")
    user = order[np.searchsorted(keys[order], store[on] * queues + touched[:, QUEUE])]
    columns = user, touched[:, BEGIN], touched[:, KIND] + TOUCHES, touched[:, BOUNDS], touched[:, OFFSET]
    return np.stack(columns, axis=1)


def _in_order(rows: IntArray) -> IntArray:
    """Of each user by where its nests begin, what is done there, and at which offset."""
    user, begin, what, number, offset = rows.T
    place, does = user * (int(begin.max(initial=0)) + 1) + begin, what * (int(number.max(initial=0)) + 1) + number
    return np.lexsort((offset, does, place))


def _parts(sides: TokenSides, keys: IntArray, what: int) -> IntArray:
    """Rows (user, begin, what, run, 0) for the parts of the side of each user."""
    of, found = sides.columns, sides.find(keys)
    user = np.flatnonzero(found >= 0)
    side = found[user]
    sizes = of.first[side + 1] - of.first[side]
    part = np.arange(int(sizes.sum())) + np.repeat(of.first[side] - (np.cumsum(sizes) - sizes), sizes)
    nothing = np.zeros_like(part)
    return np.stack((np.repeat(user, sizes), of.begin[part], nothing + what, of.run[part], nothing), axis=1)


class _Touches(NamedTuple):
    """Accesses in order: command, first byte, end, kind, and the slot that is held."""

    at: IntArray
    low: IntArray
    high: IntArray
    kind: IntArray
    slot: IntArray

    def pick(self, keep: BoolArray | IntArray) -> _Touches:
        """Those where ``keep`` holds, or of these numbers."""
        return _Touches(*(column[keep] for column in self))


def _slot_bytes(table: OperandTable, rows: IntArray, writes: bool) -> SlotBytes | None:
    """What a habit covers, if it writes, or else reads of each slot; None where it does not keep to the protocol."""
    takes = _commands(table.ledger.taken, rows[rows[:, 1] == TAKES])
    gives = _commands(table.ledger.given, rows[rows[:, 1] == GIVES])
    touches = _touches_of(table, rows[rows[:, 1] >= TOUCHES], takes)
    signalled = np.searchsorted(gives, touches.at, side="left")
    if len(gives) != len(takes) or (touches.slot < 0).any() or (signalled > touches.slot).any():
        return None
    if (touches.kind == SCATTERS).any():
        return None
    read, written = touches.pick(touches.kind == READS), touches.pick(touches.kind == WRITES)
    if not writes:
        return _hulls(read, len(takes))
    return _hulls(written, len(takes)) if _without_gap(written) and _read_after(touches) else None


def _commands(sides: TokenSides, rows: IntArray) -> IntArray:
    found = [np.empty(0, dtype=np.int64)]
    for begin, _, run, _ in rows.tolist():
        found.append(sides.columns.places[int(sides.columns.start[run]) : int(sides.columns.start[run + 1])] + begin)
    return np.concatenate(found)


def _touches_of(table: OperandTable, rows: IntArray, takes: IntArray) -> _Touches:
    parts = [(table.bounds[bounds], begin, what - TOUCHES, offset) for begin, what, bounds, offset in rows.tolist()]
    empty: list[IntArray] = [np.empty(0, dtype=np.int64)]
    index = np.concatenate(empty + [bounds.at + begin for bounds, begin, _, _ in parts])
    low = np.concatenate(empty + [bounds.low + offset for bounds, _, _, offset in parts])
    high = np.concatenate(empty + [bounds.high + offset for bounds, _, _, offset in parts])
    kind = np.repeat([kind for _, _, kind, _ in parts], [len(bounds.at) for bounds, _, _, _ in parts]).astype(np.int64)
    slot = np.searchsorted(takes, index, side="right") - 1
    touches = _Touches(index, low, high, kind, slot)
    return touches if len(parts) < 2 else touches.pick(np.argsort(index, kind="stable"))


def _hulls(touches: _Touches, slots: int) -> SlotBytes:
    """From the first byte to the end of all that is touched of each slot."""
    found = SlotBytes(np.full(slots, NO_BYTES, dtype=np.int64), np.full(slots, -NO_BYTES, dtype=np.int64))
    begin = np.flatnonzero(np.diff(touches.slot, prepend=-1))
    if len(begin):
        found.low[touches.slot[begin]] = np.minimum.reduceat(touches.low, begin)
        found.high[touches.slot[begin]] = np.maximum.reduceat(touches.high, begin)
    return found


def _without_gap(written: _Touches) -> bool:
    """Whether all that is written of a slot, by bounding intervals, is one stretch of it."""
    if not (written.slot[1:] == written.slot[:-1]).any():
        return True
    size = int(written.high.max()) + 1
    low, high = written.low + written.slot * size, written.high + written.slot * size
    order = np.argsort(low, kind="stable")
    reached = np.maximum.accumulate(high[order])[:-1]
    new = np.diff(written.slot[order]) != 0
    return bool((new | (low[order][1:] <= reached)).all())


def _read_after(touches: _Touches) -> bool:
    """Whether the writer reads only what it has written before in the same slot, byte for byte the same interval."""
    if not (touches.kind == READS).any():
        return True
    order = np.lexsort((touches.kind, touches.at, touches.high, touches.low, touches.slot))
    slot, low, high = touches.slot[order], touches.low[order], touches.high[order]
    opens = np.ones(len(order), dtype=np.bool_)
    opens[1:] = (np.diff(slot) != 0) | (np.diff(low) != 0) | (np.diff(high) != 0)
    return not (touches.kind[order][opens] == READS).any()
