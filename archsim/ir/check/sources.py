"""All sources of tokens at once: how many they give, who must have ended before each taking, what is left at the end.

For the happens-before relation of all interleavings, the taker of ``need`` tokens of a source comes after the command
of queue s that gives token number ``need - initial - (all that the other queues could ever give)`` of s, if positive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.ledger import NOBODY, Ledger

IntArray = NDArray[np.int64]
NEVER = 1 << 40  # index of a command that does not exist: a token nobody gives


@dataclass(frozen=True, slots=True)
class Sources:
    """One row for each giver of each source, sorted by ``key`` (taker and token as in Events).

    ``begin`` and ``count``: its tokens in ``Ledger.given.each_at``; ``initial``, ``total``, ``final`` and the number of
    ``givers`` of its source. One that nobody gives has a row of queue 0 and no tokens.
    """

    key: IntArray
    token: IntArray
    giver: IntArray
    begin: IntArray
    count: IntArray
    initial: IntArray
    total: IntArray
    final: IntArray
    givers: IntArray


@dataclass(frozen=True, slots=True)
class Needs:
    """Command ``at`` of ``queue`` starts after command ``index`` of queue ``giver`` has ended, in any interleaving.

    Sorted by queue and command; those that others imply are left out.
    """

    queue: IntArray
    at: IntArray
    giver: IntArray
    index: IntArray


def sources_of(ledger: Ledger) -> Sources:
    """The sources of a Program."""
    program, numbers = ledger.program, ledger.numbers
    rings = [
        (2 * number, numbers[ring.writer], numbers[reader], ring.slots)
        for number, ring in enumerate(program.rings)
        for reader in ring.readers
    ]
    free, writer, reader, slots = np.array(rings, dtype=np.int64).reshape(-1, 4).T
    none = np.zeros_like(slots)
    token, giver = _plain(ledger)
    taker = np.full(ledger.taken.tokens, NOBODY, dtype=np.int64)
    taker[ledger.taken.token] = ledger.taken.queue
    initial = np.array([item.initial for item in program.semaphores], dtype=np.int64)[token - 2 * len(program.rings)]
    tokens = np.concatenate((free, free + 1, token))
    takers = np.concatenate((writer, reader, taker[token]))
    givers = np.concatenate((reader, writer, giver))
    begin, end = ledger.given.each(givers, tokens)
    count = end - begin
    plain = len(tokens) - len(token)
    total, several = count.copy(), np.ones_like(count)
    if len(token):
        total[plain:] = np.bincount(token, count[plain:]).astype(np.int64)[token]
        several[plain:] = np.bincount(token)[token]
    starts = np.concatenate((slots, none, initial))
    final = np.concatenate((slots, none, np.zeros_like(initial)))
    key = takers * ledger.taken.tokens + tokens
    order = np.argsort(key, kind="stable")
    columns = (key, tokens, givers, begin, count, starts, total, final, several)
    return Sources(*(column[order] for column in columns))


def _plain(ledger: Ledger) -> tuple[IntArray, IntArray]:
    """(semaphore, queue) for all that queues give, and (semaphore, 0) for those that nobody gives."""
    events, first = ledger.given, 2 * len(ledger.program.rings)
    opens = np.diff(events.key, prepend=-1) != 0
    token, giver = events.token[opens & (events.token >= first)], events.queue[opens & (events.token >= first)]
    missing = np.setdiff1d(np.arange(first, events.tokens), token)
    return np.concatenate((token, missing)), np.concatenate((giver, np.zeros_like(missing)))


def needs_of(ledger: Ledger, sources: Sources) -> Needs:
    """What surely ended before each command that waits."""
    events = ledger.taken
    sums = np.cumsum(events.n)
    opens = np.diff(events.key, prepend=-1) != 0
    before = (sums - events.n)[opens][np.cumsum(opens) - 1]
    begin = np.searchsorted(sources.key, events.key, side="left")
    sizes = np.searchsorted(sources.key, events.key, side="right") - begin
    event = np.repeat(np.arange(len(sizes)), sizes)
    row = np.arange(len(event)) - np.repeat(np.cumsum(sizes) - sizes - begin, sizes)
    own = (sums - before)[event] - sources.initial[row] - (sources.total - sources.count)[row]
    keep = own > 0
    event, row, own = event[keep], row[keep], own[keep]
    there = own <= sources.count[row]
    index = np.full(len(own), NEVER, dtype=np.int64)
    index[there] = ledger.given.each_at[(sources.begin[row] + own - 1)[there]]
    return telling(Needs(events.queue[event], events.at[event], sources.giver[row], index), len(ledger.steps))


def telling(needs: Needs, queues: int) -> Needs:
    """Without what the order of the queue itself, or an earlier need of the same queue and giver, implies."""
    group = needs.queue * queues + needs.giver
    order = np.lexsort((-needs.index, needs.at, group))
    index = np.where(needs.index < NEVER, needs.index, -1)
    most = int(index.max(initial=0)) + 1  # stands for NEVER: many queues times all of its range are no 64 bits
    high = group[order] * (most + 1) + np.where(index < 0, most, index)[order]
    new = np.ones(len(high), dtype=np.bool_)
    new[1:] = high[1:] > np.maximum.accumulate(high)[:-1]
    own = (needs.queue == needs.giver) & (needs.index < needs.at)
    kept = order[new & ~own[order]]
    kept = kept[np.lexsort((needs.at[kept], needs.queue[kept]))]
    return Needs(needs.queue[kept], needs.at[kept], needs.giver[kept], needs.index[kept])
