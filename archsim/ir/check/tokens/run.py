"""The token-only run: deadlock and lost tokens before time 0, and happens-before in all interleavings.

Queues advance in any order as far as their waits allow; because every source of tokens has one taker, the outcome does
not depend on that order. The run counts tokens in the loops as they are written.

What has ended when a command starts, in every token-legal interleaving, is found when it is asked for: the command
follows who gave the tokens that it and those before it in its queue took, and so on. For that the taker of ``need``
tokens of a source comes after the command of queue s that gives token number ``need - initial - (all that the other
queues could ever give)`` of s, if positive.

Where the run stops, the message says who waits for whom: the cycle of waits, or the token that nobody gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from archsim.base.arrays import AnyArray, BoolArray, IntArray
from archsim.base.errors import ProgramError
from archsim.ir.check.tokens.compiled import (
    FollowColumns,
    Known,
    RunState,
    SourceColumns,
    clocks_at,
    ended_before,
    run_queues,
)
from archsim.ir.check.tokens.ledger import TokenLedger, TokenSource
from archsim.ir.check.tokens.sources import TokenSources, check_ends, sources_of


def report_deadlock(ledger: TokenLedger, done: Sequence[int]) -> NoReturn:
    """Raise ProgramError with the wait cycle; ``done[q]``: commands of queue q that could finish."""
    stuck = [queue for queue, steps in enumerate(ledger.steps) if done[queue] < len(steps)]
    chain: list[int] = []
    lines: list[str] = []
    queue: int | None = stuck[0]
    while queue is not None and queue not in chain:
        chain.append(queue)
        line, queue = _explain(ledger, done, queue)
        lines.append(line)
    if queue is None:
        raise ProgramError("deadlock: a token that nobody gives\n" + "\n".join(lines))
    cycle = lines[chain.index(queue) :]
    raise ProgramError("deadlock: these commands wait for each other in a cycle\n" + "\n".join(cycle))


def _explain(ledger: TokenLedger, done: Sequence[int], queue: int) -> tuple[str, int | None]:
    """One line for the head of ``queue``, and the queue that it waits for (None: nobody)."""
    step = ledger.steps[queue][done[queue]]
    source, wants, left = _unmet(ledger, done, queue)
    here = f"{step.where} (command {step.index} of {ledger.name(queue)})"
    line = f"  {here} waits for {wants} '{source.token}' and there are {left}"
    givers = [(number, indices) for number, indices in source.givers if indices and indices[-1] >= done[number]]
    if not givers:
        return f"{line}; no command left gives one", None
    number, indices = givers[0]
    index = next(index for index in indices if index >= done[number])
    giver = ledger.steps[number][index]
    where = "itself" if (number, index) == (queue, step.index) else giver.where
    return f"{line}; the next is given by {where} (command {index} of {ledger.name(number)})", number


def _unmet(ledger: TokenLedger, done: Sequence[int], queue: int) -> tuple[TokenSource, int, int]:
    """The first source that the head of ``queue`` is short of, the tokens it takes and the tokens left for it."""
    step = ledger.steps[queue][done[queue]]
    past = ledger.steps[queue][: step.index]
    short = []
    for name in dict.fromkeys(name for name, _ in step.waits):
        before = sum(n for earlier in past for token, n in earlier.waits if token == name)
        wants = sum(n for token, n in step.waits if token == name)
        for source in ledger.draws[queue, name].sources:
            left = source.available(done) - before
            if left < wants:
                short.append((source, wants, left))
    return short[0]


Integers = IntArray | np.int64 | int


@dataclass(frozen=True, slots=True)
class HappensBefore:
    """Happens-before. ``counts[q]``: commands of queue number q; ``follows``: whom each queue follows."""

    counts: IntArray
    ledger: TokenLedger
    follows: FollowColumns

    def ended(self, queue: Integers, index: Integers, other: Integers) -> IntArray:
        """How many commands of queue ``other`` have ended when command ``index`` of ``queue`` starts, whatever happens.

        All three broadcast. Of its own queue those before it have.
        """
        parts = np.broadcast_arrays(queue, index, other)
        asked = [np.ravel(part).astype(np.int64) for part in parts]
        order = np.lexsort((asked[1], asked[0]))
        ended = np.empty(len(order), dtype=np.int64)
        self._walk(ended_before, ((asked[0][order], asked[1][order], asked[2][order]),), ended)
        found = np.empty_like(ended)
        found[order] = ended
        return found.reshape(parts[0].shape)

    def clocks(
        self, asked: tuple[IntArray, IntArray, IntArray, IntArray], first: IntArray, others: IntArray, size: int
    ) -> AnyArray:
        """``ended`` of several queues for commands in order of queue and command, as of ``clocks_at``; ``size``: how
        many numbers that are. They are the smallest unsigned integers that hold them."""
        found = np.empty(size, dtype=np.min_scalar_type(int(self.counts.max(initial=0))))
        self._walk(clocks_at, (asked, first, others), found)
        return found

    def _walk(self, walk: Callable[..., None], asked: tuple[object, ...], found: AnyArray) -> None:
        known = Known(*np.zeros((4, len(self.counts)), dtype=np.int64))
        walk(self.ledger.taken.columns, self.ledger.given.columns, self.follows, *asked, known, found)


def run_tokens(ledger: TokenLedger) -> HappensBefore:
    """Run the Program's tokens alone; raises ProgramError on deadlock and on lost tokens."""
    sources = sources_of(ledger)
    counts = np.array([len(steps) for steps in ledger.steps], dtype=np.int64)
    done = _run(ledger, sources, counts)
    if (done < counts).any():
        report_deadlock(ledger, done.tolist())
    check_ends(ledger, sources)
    return HappensBefore(counts, ledger, _follows(ledger, sources, len(counts)))


def _run(ledger: TokenLedger, sources: TokenSources, counts: IntArray) -> IntArray:
    """How many commands of each queue, which has ``counts``, could finish."""
    taken, queues = ledger.taken, len(counts)
    sides, numbers = len(taken.key), np.arange(queues)
    rows = sources.take >= 0
    take = sources.take[rows]
    columns = SourceColumns(
        np.searchsorted(take, np.arange(sides + 1)),
        sources.give[rows],
        sources.giver[rows],
        sources.initial[rows],
        sources.givers[rows],
    )
    side = np.repeat(np.arange(sides), np.diff(taken.columns.first))
    owner = taken.queue[side]
    parts = np.lexsort((taken.columns.begin, owner))
    of = np.searchsorted(owner[parts], np.arange(queues + 1))
    nothing = np.full(len(take), -1, dtype=np.int64)
    state = RunState(
        of=of,
        parts=parts,
        at=of[:-1].copy(),
        next=taken.columns.start[taken.columns.run],
        done=np.zeros_like(counts),
        counts=counts,
        ready=numbers.copy(),
        waiting=np.ones_like(counts),
        cursor=nothing.copy(),
        asleep=np.full(queues, -1, dtype=np.int64),
        after=nothing,
        listed=np.zeros_like(nothing),
        taker=sources.taker[rows],
        side=side,
    )
    run_queues(taken.columns, ledger.given.columns, columns, state)
    return state.done


def _follows(ledger: TokenLedger, sources: TokenSources, queues: int) -> FollowColumns:
    """Whom each of ``queues`` follows, if its tokens are there and none is left."""
    taken, given = ledger.taken, ledger.given
    spare = sources.initial + sources.total - sources.count
    own = np.append(taken.columns.total, 0)[sources.take] - spare
    rows = np.flatnonzero((sources.take >= 0) & (own > 0) & (sources.taker != sources.giver))
    take, give, spare, own = sources.take[rows], sources.give[rows], spare[rows], own[rows]
    opens, closes = taken.nth(take, spare), taken.nth(take, taken.columns.total[take] - 1)
    last = given.nth(give, own - 1)
    taker = sources.taker[rows]
    giver = sources.giver[rows]
    order = np.lexsort((opens, taker))
    order = order[_telling(taker[order] * queues + giver[order], last[order], (opens == closes)[order])]
    of = np.searchsorted(taker[order], np.arange(queues + 1))
    columns = (take, give, giver, spare, opens, closes, last)
    return FollowColumns(of, *(column[order] for column in columns))


def _telling(pair: IntArray, last: IntArray, once: BoolArray) -> BoolArray:
    """Rows that say more than the ``once`` needed before them of the same ``pair`` of queues; all of several tokens."""
    rows = np.flatnonzero(once)
    order = rows[np.argsort(pair[rows], kind="stable")]
    _, number = np.unique(pair[order], return_inverse=True)
    high = number * (int(last.max(initial=0)) + 1) + last[order]
    kept = np.ones(len(last), dtype=np.bool_)
    kept[order[1:]] = high[1:] > np.maximum.accumulate(high)[:-1]
    return kept
