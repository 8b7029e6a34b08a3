"""All sources of tokens at once: how many they give, and what is left of them at the end.

At the end of the token run rings are as they began, semaphores at 0, and no slot was signalled before it was taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archsim.base.arrays import BoolArray, IntArray
from archsim.base.errors import ProgramError
from archsim.ir.check.tokens.ledger import NOBODY, TokenLedger, TokenSource
from archsim.ir.program import Ring


@dataclass(frozen=True, slots=True)
class TokenSources:
    """One row for each giver of each source, sorted by taker and token; those of a source are neighbours.

    ``take``, ``give``: numbers of the sides of the ``taker`` and the ``giver``, -1 for none; ``count``: tokens that
    the giver gives; ``initial``, ``total``, ``final`` and the number of ``givers`` of its source. One that nobody gives
    has a row of queue 0 and no tokens.
    """

    taker: IntArray
    take: IntArray
    giver: IntArray
    give: IntArray
    count: IntArray
    initial: IntArray
    total: IntArray
    final: IntArray
    givers: IntArray


def sources_of(ledger: TokenLedger) -> TokenSources:
    """The sources of a Program."""
    program, numbers, given = ledger.program, ledger.numbers, ledger.given
    rings = [
        (2 * number, numbers[ring.writer], numbers[reader], ring.slots)
        for number, ring in enumerate(program.rings)
        for reader in ring.readers
    ]
    free, writer, reader, slots = np.array(rings, dtype=np.int64).reshape(-1, 4).T
    none = np.zeros_like(slots)
    token, giver = _plain(ledger)
    takers = np.full(ledger.taken.tokens, NOBODY, dtype=np.int64)
    takers[ledger.taken.token] = ledger.taken.queue
    initial = np.array([item.initial for item in program.semaphores], dtype=np.int64)[token - 2 * len(program.rings)]
    tokens = np.concatenate((free, free + 1, token))
    taker = np.concatenate((writer, reader, takers[token]))
    givers = np.concatenate((reader, writer, giver))
    give = given.find(givers * given.tokens + tokens)
    count = np.where(give < 0, 0, np.append(given.columns.total, 0)[give])
    plain = len(tokens) - len(token)
    total, several = count.copy(), np.ones_like(count)
    if len(token):
        total[plain:] = np.bincount(token, count[plain:]).astype(np.int64)[token]
        several[plain:] = np.bincount(token)[token]
    starts = np.concatenate((slots, none, initial))
    final = np.concatenate((slots, none, np.zeros_like(initial)))
    key = taker * ledger.taken.tokens + tokens
    columns = (taker, ledger.taken.find(key), givers, give, count, starts, total, final, several)
    order = np.argsort(key, kind="stable")
    return TokenSources(*(column[order] for column in columns))


def _plain(ledger: TokenLedger) -> tuple[IntArray, IntArray]:
    """(semaphore, queue) for all that queues give, and (semaphore, 0) for those that nobody gives."""
    first = 2 * len(ledger.program.rings)
    plain = ledger.given.token >= first
    token, giver = ledger.given.token[plain], ledger.given.queue[plain]
    missing = np.setdiff1d(np.arange(first, ledger.given.tokens), token)
    return np.concatenate((token, missing)), np.concatenate((giver, np.zeros_like(missing)))


def check_ends(ledger: TokenLedger, sources: TokenSources) -> None:
    """Raise ProgramError for tokens that are lost or missing at the end, and for slots signalled before taken."""
    if not _held_rightly(ledger):
        for ring in ledger.program.rings:
            for name in (ring.writer, *ring.readers):
                _check_held(ledger, ring, ledger.numbers[name])
    takes = np.where(sources.take < 0, 0, np.append(ledger.taken.columns.total, 0)[sources.take])
    if (sources.initial + sources.total - takes != sources.final).any():
        for (queue, _), draw in ledger.draws.items():
            for source in draw.sources:
                left = source.initial + source.total - len(draw.commands)
                if left != source.final:
                    raise ProgramError(_lost(ledger, queue, source, len(draw.commands), left))


def _held_rightly(ledger: TokenLedger) -> bool:
    """Whether all that hold slots of a ring signal as many as they take, and none before it is taken."""
    taken, given = ledger.taken, ledger.given
    held = [
        (ledger.numbers[name], 2 * number + (name != ring.writer))
        for number, ring in enumerate(ledger.program.rings)
        for name in (ring.writer, *ring.readers)
    ]
    queue, takes = np.array(held, dtype=np.int64).reshape(-1, 2).T
    take, give = taken.find(queue * taken.tokens + takes), given.find(queue * given.tokens + (takes ^ 1))
    if ((take < 0) != (give < 0)).any():
        return False
    take, give = take[take >= 0], give[give >= 0]
    if (taken.columns.total[take] != given.columns.total[give]).any():
        return False
    apart = ~_alike(ledger, take, give)
    return all(
        bool((given.commands_of(two) >= taken.commands_of(one)).all())
        for one, two in zip(take[apart].tolist(), give[apart].tolist(), strict=True)
    ) and _ordered(ledger, take[~apart], give[~apart])


def _alike(ledger: TokenLedger, take: IntArray, give: IntArray) -> BoolArray:
    """Whether two sides of as many tokens have as many in the same nests."""
    taken, given = ledger.taken.columns, ledger.given.columns
    sizes = taken.first[take + 1] - taken.first[take]
    found: BoolArray = sizes == given.first[give + 1] - given.first[give]
    for rank in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(found & (sizes > rank))
        one, two = taken.first[take[rows]] + rank, given.first[give[rows]] + rank
        found[rows] = (taken.begin[one] == given.begin[two]) & (taken.before[one] == given.before[two])
    return found


def _ordered(ledger: TokenLedger, take: IntArray, give: IntArray) -> bool:
    """Whether no token of sides that are alike is given before it is taken; equal runs are compared once."""
    taken, given = ledger.taken.columns, ledger.given.columns
    sizes = taken.first[take + 1] - taken.first[take]
    inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    one = taken.run[np.repeat(taken.first[take], sizes) + inside]
    two = given.run[np.repeat(given.first[give], sizes) + inside]
    pairs = np.unique(one * len(given.start) + two)
    return all(
        not (
            given.places[given.start[two] : given.start[two + 1]]
            < taken.places[taken.start[one] : taken.start[one + 1]]
        ).any()
        for one, two in zip((pairs // len(given.start)).tolist(), (pairs % len(given.start)).tolist(), strict=True)
    )


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
