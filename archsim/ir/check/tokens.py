"""The token-only run: deadlock and lost tokens before time 0, and happens-before as vector clocks.

Queues advance in any order as far as their waits allow; because every source of tokens has one taker, the outcome does
not depend on that order. A queue's clock, which counts for each queue the commands that have ended in every token-legal
interleaving, changes at some of its waits only: each distinct one is kept once, and commands know its row.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    run = _Run(np.array([len(steps) for steps in ledger.steps], dtype=np.int64), _waits(ledger, sources))
    run.go()
    if run.head != run.end:
        report_deadlock(ledger, run.done())
    check_ends(ledger, sources)
    return run.order()


@dataclass(frozen=True, slots=True)
class Waits:
    """Commands ``at`` of ``queue`` that wait for others, numbered in this order.

    Those of number n follow, in every interleaving, command ``index`` of queue ``giver`` of rows ``begin[n]`` to
    ``begin[n + 1]``; ``after``: the last wait there (-1: none, their number if it never ends). ``counted`` by number:
    (source of several givers, tokens that are taken of it up to here), which not all interleavings give alike.
    """

    queue: IntArray
    at: IntArray
    begin: IntArray
    giver: IntArray
    index: IntArray
    after: IntArray
    counted: Mapping[int, Sequence[tuple[Source, int]]]


def _waits(ledger: Ledger, sources: Sources) -> Waits:
    """The commands that wait for what is not clear without."""
    needs = needs_of(ledger, sources)
    counted = _counted(ledger, sources)
    stride = max(map(len, ledger.steps), default=0) + 1
    alone = np.array([queue * stride + at for queue, at in counted], dtype=np.int64)
    wanted = needs.queue * stride + needs.at
    keys = np.union1d(wanted, alone)
    never = needs.index >= stride
    after = np.searchsorted(keys, needs.giver * stride + np.where(never, 0, needs.index), side="right") - 1
    after[keys[after] // stride != needs.giver] = -1
    after[never] = len(keys)
    numbers = np.searchsorted(keys, alone).tolist()
    begin = np.searchsorted(wanted, np.append(keys, np.iinfo(np.int64).max))
    more = dict(zip(numbers, counted.values(), strict=True))
    return Waits(keys // stride, keys % stride, begin, needs.giver, needs.index, after, more)


def _counted(ledger: Ledger, sources: Sources) -> dict[tuple[int, int], list[tuple[Source, int]]]:
    """By queue and command that waits: sources of several givers and tokens taken of each so far, in their order.

    Who takes all that there are needs all givers, in any interleaving.
    """
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
        if taken[name] < known[name].initial + known[name].total:
            found.setdefault((queue, at), []).append((known[name], taken[name]))
    return dict(sorted(found.items()))


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
    """State of the token run: of each queue the number of its next wait, ``head``, up to ``end``; a clock for each wait
    that has passed."""

    def __init__(self, counts: IntArray, waits: Waits) -> None:
        """``counts``: commands of each queue."""
        self.counts, self.waits = counts, waits
        numbers = np.arange(len(counts))
        self.first: list[int] = np.searchsorted(waits.queue, numbers, side="left").tolist()
        self.end: list[int] = np.searchsorted(waits.queue, numbers, side="right").tolist()
        self.head = [*self.first]
        self.clocks = np.zeros((1 + len(waits.at), len(counts)), dtype=np.min_scalar_type(int(counts.max(initial=0))))
        self.sleepers: list[list[int]] = [[] for _ in numbers]

    def go(self) -> None:
        """Advance every queue until none can."""
        ready = deque(range(len(self.head)))
        while ready:
            queue = ready.popleft()
            before = self.head[queue]
            self._advance(queue)
            if self.head[queue] > before and self.sleepers[queue]:
                ready.extend(self.sleepers[queue])
                self.sleepers[queue] = []

    def _advance(self, queue: int) -> None:
        """Pass the waits of ``queue`` as far as tokens are there."""
        head, counted = self.head, self.waits.counted
        begin, giver, after = self.waits.begin.data, self.waits.giver.data, self.waits.after.data
        clock = self.clocks[head[queue] if head[queue] > self.first[queue] else 0]
        for number in range(head[queue], self.end[queue]):
            rows = range(begin[number], begin[number + 1])
            for row in rows:
                if after[row] >= head[giver[row]]:
                    self.sleepers[giver[row]].append(queue)
                    return
            if number in counted and not self._given(number, queue):
                return
            clock = self._merged(clock, self.clocks[number + 1], rows)
            head[queue] = number + 1

    def _given(self, number: int, queue: int) -> bool:
        """Whether what wait ``number`` takes of sources of several givers is there; else it is told of more."""
        done = self.done()
        for source, taken in self.waits.counted[number]:
            if source.available(done) < taken:
                for giver, _ in source.givers:
                    self.sleepers[giver].append(queue)
                return False
        return True

    def _merged(self, clock: NDArray[Any], mine: NDArray[Any], rows: range) -> NDArray[Any]:
        """``mine``, the clock of a queue from a wait on: its ``clock`` before, what its givers knew, and themselves."""
        giver, index, after = self.waits.giver.data, self.waits.index.data, self.waits.after.data
        before = clock
        for row in rows:
            source, at = giver[row], index[row]
            if clock.item(source) <= at:
                clock = np.maximum(clock, self.clocks[after[row] + 1], out=mine)
                clock[source] = at + 1
        if clock is before:
            mine[:] = before
        return mine

    def done(self) -> list[int]:
        """How many commands of each queue could finish."""
        ends = zip(self.head, self.end, self.counts.tolist(), strict=True)
        return [int(self.waits.at[head]) if head < end else count for head, end, count in ends]

    def order(self) -> Order:
        """What is known when every queue has run to its end."""
        first = np.cumsum(self.counts) - self.counts
        version = np.zeros(int(self.counts.sum()), dtype=np.int64)
        version[first[self.waits.queue] + self.waits.at] = np.arange(1, len(self.clocks))
        version = np.maximum.accumulate(version)
        version[version <= np.repeat(self.first, self.counts)] = 0
        return Order(self.counts, first, version, self.clocks)
