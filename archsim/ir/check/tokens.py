"""The token-only run: deadlock and lost tokens before time 0, and happens-before as vector clocks.

Queues advance in any order as far as their waits allow; because every source of tokens has one taker, the outcome does
not depend on that order. A queue's clock, which counts for each queue the commands that have ended in every token-legal
interleaving, changes at some of its waits only: each distinct one is kept once, and commands know its row.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.deadlock import report_deadlock
from archsim.ir.check.ledger import Ledger, Source
from archsim.ir.check.leftovers import check_ends
from archsim.ir.check.sources import Sources, needs_of, sources_of

IntArray = NDArray[np.int64]
Integers = IntArray | np.int64 | int


@dataclass(frozen=True, slots=True)
class Order:
    """Happens-before. ``counts[q]``: commands of queue number q; ``first[q]``: the number of its first one among all.

    ``clocks``: distinct vector clocks, shape (versions, queues), in the smallest unsigned integers that hold them;
    ``version``: row of it by command number.
    """

    counts: IntArray
    first: IntArray
    version: IntArray
    clocks: NDArray[Any]

    def ended(self, queue: Integers, index: Integers, other: Integers) -> IntArray:
        """How many commands of queue ``other`` have ended when command ``index`` of ``queue`` starts, whatever happens.

        All three broadcast. Of its own queue those before it have.
        """
        rows = self.version[self.first[queue] + index]
        return np.where(np.equal(queue, other), index, self.clocks[rows, other])


def run_tokens(ledger: Ledger) -> Order:
    """Run the Program's tokens alone; raises ProgramError on deadlock and on lost tokens."""
    sources = sources_of(ledger)
    run = _Run([len(steps) for steps in ledger.steps], _waits(ledger, sources))
    run.go()
    if any(head < len(waits) for head, waits in zip(run.head, run.waits, strict=True)):
        report_deadlock(ledger, run.done)
    check_ends(ledger, sources)
    return run.order()


class Wait(NamedTuple):
    """Command ``at`` waits: ``needs`` hold in every interleaving; ``counted``: (source of several givers, tokens)."""

    at: int
    needs: Sequence[tuple[int, int]]
    counted: Sequence[tuple[Source, int]]


def _waits(ledger: Ledger, sources: Sources) -> list[list[Wait]]:
    """By queue, the commands that wait for what is not clear without."""
    needs = needs_of(ledger, sources)
    counted = _counted(ledger, sources)
    pairs = list(zip(needs.giver.tolist(), needs.index.tolist(), strict=True))
    opens = (np.diff(needs.queue, prepend=-1) != 0) | (np.diff(needs.at, prepend=-1) != 0)
    begins = np.flatnonzero(opens)
    ends = np.append(begins, len(pairs))[1:]
    heads = zip(needs.queue[begins].tolist(), needs.at[begins].tolist(), strict=True)
    found: list[list[Wait]] = [[] for _ in ledger.steps]
    for (queue, at), begin, end in zip(heads, begins.tolist(), ends.tolist(), strict=True):
        found[queue].append(Wait(at, pairs[begin:end], counted.pop((queue, at), ())))
    for (queue, at), more in counted.items():
        insort(found[queue], Wait(at, (), more), key=itemgetter(0))
    return found


def _counted(ledger: Ledger, sources: Sources) -> dict[tuple[int, int], list[tuple[Source, int]]]:
    """By queue and command that waits: sources of several givers and tokens taken of each so far."""
    found: dict[tuple[int, int], list[tuple[Source, int]]] = {}
    known = {source.token: source for source in _several(ledger, sources)}
    names = ledger.program.semaphores
    events, first = ledger.taken, 2 * len(ledger.program.rings)
    rows = np.flatnonzero(np.isin(events.key, sources.key[sources.givers > 1]))
    taken = Counter[str]()
    columns = (events.queue, events.token, events.at, events.n)
    for queue, token, at, n in zip(*(column[rows].tolist() for column in columns), strict=True):
        name = names[token - first].name
        taken[name] += n
        found.setdefault((queue, at), []).append((known[name], taken[name]))
    return found


def _several(ledger: Ledger, sources: Sources) -> Iterator[Source]:
    """The sources of several givers."""
    names, first = ledger.program.semaphores, 2 * len(ledger.program.rings)
    rows = np.flatnonzero(sources.givers > 1)
    givers = zip(sources.giver[rows].tolist(), sources.begin[rows].tolist(), sources.count[rows].tolist(), strict=True)
    gives = [(giver, ledger.given.each_at[begin : begin + count].tolist()) for giver, begin, count in givers]
    columns = (sources.token, sources.initial, sources.final, sources.total, sources.givers)
    at = 0
    while at < len(rows):
        token, initial, final, total, several = (int(column[rows[at]]) for column in columns)
        yield Source(names[token - first].name, initial, final, tuple(gives[at : at + several]), total)
        at += several


class _Run:
    """State of the token run: commands finished and the next wait of each queue; rows of its clocks and since when."""

    def __init__(self, counts: Sequence[int], waits: Sequence[Sequence[Wait]]) -> None:
        """``counts``: commands of each queue; ``waits``: those that wait."""
        self.waits = waits
        queues = len(counts)
        self.done = [0] * queues
        self.head = [0] * queues
        self.counts = np.array(counts, dtype=np.int64)
        rows = 1 + sum(map(len, waits))  # the first: all start with nothing ended
        self.clocks = np.zeros((rows, queues), dtype=np.min_scalar_type(int(self.counts.max(initial=0))))
        self.rows = [self.clocks[0]]  # those that are in use
        self.since: list[list[int]] = [[0] for _ in range(queues)]
        self.versions: list[list[int]] = [[0] for _ in range(queues)]
        self.sleepers: list[list[int]] = [[] for _ in range(queues)]

    def go(self) -> None:
        """Advance every queue until none can."""
        ready = deque(range(len(self.done)))
        while ready:
            queue = ready.popleft()
            before = self.done[queue]
            self._advance(queue)
            if self.done[queue] > before and self.sleepers[queue]:
                ready.extend(self.sleepers[queue])
                self.sleepers[queue] = []

    def _advance(self, queue: int) -> None:
        waits, done = self.waits[queue], self.done
        for number in range(self.head[queue], len(waits)):
            wait = waits[number]
            done[queue] = wait.at
            blockers = self._blockers(wait)
            if blockers:
                self.head[queue] = number
                for blocker in blockers:
                    self.sleepers[blocker].append(queue)
                return
            self._merge(queue, wait)
        self.head[queue] = len(waits)
        done[queue] = int(self.counts[queue])

    def _blockers(self, wait: Wait) -> Sequence[int]:
        """Queues whose progress this wait is short of."""
        done = self.done
        for queue, index in wait.needs:
            if done[queue] <= index:
                return (queue,)
        for source, taken in wait.counted:
            if source.available(done) < taken:
                return [queue for queue, _ in source.givers]
        return ()

    def _merge(self, queue: int, wait: Wait) -> None:
        """The clock of ``queue`` from this command on: what its givers knew, and the givers themselves."""
        rows = self.rows
        clock = before = rows[self.versions[queue][-1]]
        for giver, index in wait.needs:
            if clock.item(giver) > index:
                continue
            theirs = rows[self.versions[giver][bisect_right(self.since[giver], index) - 1]]
            if clock is before:
                clock = np.maximum(before, theirs, out=self.clocks[len(rows)])
            else:
                np.maximum(clock, theirs, out=clock)
            if clock.item(giver) <= index:
                clock[giver] = index + 1
        if clock is not before:
            self.since[queue].append(wait.at)
            self.versions[queue].append(len(rows))
            rows.append(clock)

    def order(self) -> Order:
        """What is known when every queue has run to its end."""
        version = np.empty(int(self.counts.sum()), dtype=np.int64)
        first = np.cumsum(self.counts) - self.counts
        for start, count, since, rows in zip(first, self.counts, self.since, self.versions, strict=True):
            version[start : start + count] = np.repeat(rows, np.diff([*since, int(count)]))
        return Order(self.counts, first, version, self.clocks[: len(self.rows)])
