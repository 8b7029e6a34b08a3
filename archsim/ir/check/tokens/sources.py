"""All sources of tokens at once: how many they give, who must have ended before each taking, what is left at the end.

For the happens-before relation of all interleavings, the taker of ``need`` tokens of a source comes after the command
of queue s that gives token number ``need - initial - (all that the other queues could ever give)`` of s, if positive.

At the end of the token run rings are as they began, semaphores at 0, and no slot was signalled before it was taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archsim.base.arrays import IntArray
from archsim.base.errors import ProgramError
from archsim.ir.check.tokens.ledger import NOBODY, TokenLedger, TokenSource
from archsim.ir.program import Ring

NEVER = 1 << 40  # index of a command that does not exist: a token nobody gives


@dataclass(frozen=True, slots=True)
class TokenSources:
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
class TokenNeeds:
    """Command ``at`` of ``queue`` starts after command ``index`` of queue ``giver`` has ended, in any interleaving.

    Sorted by queue and command; those that others imply are left out.
    """

    queue: IntArray
    at: IntArray
    giver: IntArray
    index: IntArray


def sources_of(ledger: TokenLedger) -> TokenSources:
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
    return TokenSources(*(column[order] for column in columns))


def _plain(ledger: TokenLedger) -> tuple[IntArray, IntArray]:
    """(semaphore, queue) for all that queues give, and (semaphore, 0) for those that nobody gives."""
    events, first = ledger.given, 2 * len(ledger.program.rings)
    opens = np.diff(events.key, prepend=-1) != 0
    token, giver = events.token[opens & (events.token >= first)], events.queue[opens & (events.token >= first)]
    missing = np.setdiff1d(np.arange(first, events.tokens), token)
    return np.concatenate((token, missing)), np.concatenate((giver, np.zeros_like(missing)))


def needs_of(ledger: TokenLedger, sources: TokenSources) -> TokenNeeds:
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
    return telling(TokenNeeds(events.queue[event], events.at[event], sources.giver[row], index), len(ledger.steps))


def telling(needs: TokenNeeds, queues: int) -> TokenNeeds:
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
    return TokenNeeds(needs.queue[kept], needs.at[kept], needs.giver[kept], needs.index[kept])


def check_ends(ledger: TokenLedger, sources: TokenSources) -> None:
    """Raise ProgramError for tokens that are lost or missing at the end, and for slots signalled before taken."""
    if not _held_rightly(ledger):
        for ring in ledger.program.rings:
            for name in (ring.writer, *ring.readers):
                _check_held(ledger, ring, ledger.numbers[name])
    taken = ledger.taken.each_key
    takes = np.searchsorted(taken, sources.key, side="right") - np.searchsorted(taken, sources.key, side="left")
    if (sources.initial + sources.total - takes != sources.final).any():
        for (queue, _), draw in ledger.draws.items():
            for source in draw.sources:
                left = source.initial + source.total - len(draw.commands)
                if left != source.final:
                    raise ProgramError(_lost(ledger, queue, source, len(draw.commands), left))


def _held_rightly(ledger: TokenLedger) -> bool:
    """Whether all that hold slots of a ring signal as many as they take, and none before it is taken."""
    held = [
        (ledger.numbers[name], 2 * number + (name != ring.writer))
        for number, ring in enumerate(ledger.program.rings)
        for name in (ring.writer, *ring.readers)
    ]
    queue, takes = np.array(held, dtype=np.int64).reshape(-1, 2).T
    begin, end = ledger.taken.each(queue, takes)
    first, last = ledger.given.each(queue, takes ^ 1)
    sizes = end - begin
    if (last - first != sizes).any():
        return False
    inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    took = ledger.taken.each_at[np.repeat(begin, sizes) + inside]
    return not (ledger.given.each_at[np.repeat(first, sizes) + inside] < took).any()


def _check_held(ledger: TokenLedger, ring: Ring, queue: int) -> None:
    """The writer signals as many slots full as it took, a reader as many free, none before it took it."""
    kind = "full" if ledger.name(queue) == ring.writer else "free"
    taken, given = ledger.slots(queue, ring)
    for number, (took, gave) in enumerate(zip(taken, given, strict=False)):
        if gave < took:
            raise ProgramError(
                f"{ledger.steps[queue][gave].where} of {ledger.name(queue)} signals slot {number} of ring "
                f"'{ring.name}' {kind} before it is taken by {ledger.steps[queue][took].where}"
            )
    if len(given) != len(taken):
        which = (given if len(given) > len(taken) else taken)[-1]
        raise ProgramError(
            f"lost tokens: {ledger.name(queue)} takes {len(taken)} slots of ring '{ring.name}' and signals "
            f"{len(given)} {kind}; the last command to do so is {ledger.steps[queue][which].where}"
        )


def _lost(ledger: TokenLedger, taker: int, source: TokenSource, taken: int, left: int) -> str:
    kind = "lost" if left > source.final else "missing"
    text = f"{kind} tokens: '{source.token}' starts at {source.initial} and ends at {left} instead of {source.final}"
    for queue, indices in source.givers:
        last = f", the last by {ledger.steps[queue][indices[-1]].where}" if indices else ""
        text += f"; {ledger.name(queue)} gives {len(indices)}{last}"
    if not taken:
        return f"{text}; nobody takes any"
    last_take = ledger.draws[taker, source.token].commands[-1]
    return f"{text}; {ledger.name(taker)} takes {taken}, the last by {ledger.steps[taker][last_take].where}"
