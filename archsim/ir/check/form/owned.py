"""Whether queues take, give and touch plainly what is their own, asked of a whole Program in columns."""

from __future__ import annotations

import numpy as np

from archsim.base.arrays import BoolArray, IntArray
from archsim.base.ragged import any_of
from archsim.ir.columns import UNKNOWN, ProgramColumns, TokenColumns


class _Holders:
    """Who writes each ring, and which pairs of ring and queue, counted in one, are a ring and its reader."""

    def __init__(self, columns: ProgramColumns) -> None:
        rings, numbers = columns.program.rings, columns.queues
        self._queues = max(len(numbers), 1)
        self.writer = np.array([numbers[ring.writer] for ring in rings], dtype=np.int64)
        pairs = [ring * self._queues + numbers[name] for ring, each in enumerate(rings) for name in each.readers]
        self._readers = np.sort(np.array(pairs, dtype=np.int64))

    def reads(self, ring: IntArray, queue: IntArray) -> BoolArray:
        """Whether each queue is a reader of each ring."""
        pairs = ring * self._queues + queue
        at = np.searchsorted(self._readers, pairs)
        found: BoolArray = np.append(self._readers, UNKNOWN)[at] == pairs
        return found


def plainly_owned(columns: ProgramColumns) -> bool:
    """Whether no rule of ownership is broken; the queues that rings name are there."""
    holders = _Holders(columns)
    return (
        _tokens_owned(columns, holders, columns.waits, takes=True)
        and _tokens_owned(columns, holders, columns.signals, takes=False)
        and _one_taker(columns)
        and _stores_owned(columns, holders)
        and _retained(columns)
    )


def _tokens_owned(columns: ProgramColumns, holders: _Holders, tokens: TokenColumns, *, takes: bool) -> bool:
    """Tokens are known, counts positive; the writer takes free slots and gives full ones, readers the other way."""
    if (tokens.token == UNKNOWN).any() or (tokens.n < 1).any():
        return False
    on = np.flatnonzero(tokens.token < 2 * len(holders.writer))
    ring, full = tokens.token[on] >> 1, (tokens.token[on] & 1).astype(np.bool_)
    queue = columns.queue[tokens.command[on]]
    owned = np.where(full != takes, holders.writer[ring] == queue, holders.reads(ring, queue))
    return bool(owned.all())


def _one_taker(columns: ProgramColumns) -> bool:
    """No semaphore is waited on by two queues."""
    on = np.flatnonzero(columns.waits.token >= 2 * len(columns.program.rings))
    token, queue = columns.waits.token[on], columns.queue[columns.waits.command[on]]
    taker = np.zeros(columns.token_count, dtype=np.int64)
    taker[token] = queue
    return bool((taker[token] == queue).all())


def _stores_owned(columns: ProgramColumns, holders: _Holders) -> bool:
    """Stores are known; the writer of a ring writes it, and it or a reader reads it."""
    if (columns.store == UNKNOWN).any():
        return False
    tensors = len(columns.program.tensors)
    on = np.flatnonzero(columns.store >= tensors)
    ring, queue = columns.store[on] - tensors, columns.queue[columns.operator[on]]
    reads = (columns.writes[on] == 0) & holders.reads(ring, queue)
    return bool((reads | (holders.writer[ring] == queue)).all())


def _retained(columns: ProgramColumns) -> bool:
    """Commands flagged ``retains`` take a slot of a ring that keeps a halo."""
    kept = np.array([ring.retain != 0 for ring in columns.program.rings for _ in range(2)], dtype=np.bool_)
    ring = columns.waits.token < len(kept)
    halo = ring & np.append(kept, False)[np.where(ring, columns.waits.token, -1)]
    flagged = np.fromiter([command.retains for command in columns.commands], np.bool_, len(columns.commands))
    return bool((any_of(columns.waits.command, halo, len(flagged)) | ~flagged).all())
