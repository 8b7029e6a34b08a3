"""The token-only run: deadlock and lost tokens before time 0, and happens-before as vector clocks.

Queues advance in any order as far as their waits allow; because every source of tokens has one taker, the outcome does
not depend on that order. A queue's clock, which counts for each queue the commands that have ended in every token-legal
interleaving, changes at some of its waits only: each distinct one is kept once, and commands know its row.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.clocks import Clocks, clocks_of
from archsim.ir.check.deadlock import report_deadlock
from archsim.ir.check.ledger import Ledger
from archsim.ir.check.leftovers import check_ends
from archsim.ir.check.sources import sources_of
from archsim.ir.check.waits import Waits, waits_of

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
    clocks: Clocks

    def ended(self, queue: Integers, index: Integers, other: Integers) -> IntArray:
        """How many commands of queue ``other`` have ended when command ``index`` of ``queue`` starts, whatever happens.

        All three broadcast. Of its own queue those before it have.
        """
        rows = self.version[self.first[queue] + index]
        return np.where(np.equal(queue, other), index, self.clocks[rows, other])


def run_tokens(ledger: Ledger) -> Order:
    """Run the Program's tokens alone; raises ProgramError on deadlock and on lost tokens."""
    sources = sources_of(ledger)
    run = _Run(np.array([len(steps) for steps in ledger.steps], dtype=np.int64), waits_of(ledger, sources))
    run.go()
    if run.head != run.end:
        report_deadlock(ledger, run.done())
    check_ends(ledger, sources)
    return run.order()


class _Run:
    """State of the token run: of each queue the number of its next wait, ``head``, up to ``end``. ``levels`` of waits
    that have passed, from 1 on: above those of all that they follow, and of the queue's own before.
    """

    def __init__(self, counts: IntArray, waits: Waits) -> None:
        """``counts``: commands of each queue."""
        self.counts, self.waits = counts, waits
        numbers = np.arange(len(counts))
        self.first: list[int] = np.searchsorted(waits.queue, numbers, side="left").tolist()
        self.end: list[int] = np.searchsorted(waits.queue, numbers, side="right").tolist()
        self.head = [*self.first]
        self.levels = [0] * (len(waits.at) + 1)  # the last: of what follows no wait
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
        head, levels, counted = self.head, self.levels, self.waits.counted
        begin, giver, after = self.waits.begin.data, self.waits.giver.data, self.waits.after.data
        start = head[queue]
        level = levels[start - 1] if start > self.first[queue] else 0
        for number in range(start, self.end[queue]):
            for row in range(begin[number], begin[number + 1]):
                past = after[row]
                if past >= head[giver[row]]:
                    self.sleepers[giver[row]].append(queue)
                    return
                if levels[past] > level:
                    level = levels[past]
            if number in counted and not self._given(number, queue):
                return
            level += 1
            levels[number] = level
            head[queue] = number + 1

    def _given(self, number: int, queue: int) -> bool:
        """Whether what wait ``number`` takes of sources of several givers is there; else ``queue`` is told of more."""
        done = self.done()
        for source, taken in self.waits.counted[number]:
            if source.available(done) < taken:
                for giver, _ in source.givers:
                    self.sleepers[giver].append(queue)
                return False
        return True

    def done(self) -> list[int]:
        """How many commands of each queue could finish."""
        ends = zip(self.head, self.end, self.counts.tolist(), strict=True)
        return [int(self.waits.at[head]) if head < end else count for head, end, count in ends]

    def order(self) -> Order:
        """What is known when every queue has run to its end."""
        first = np.cumsum(self.counts) - self.counts
        version = np.zeros(int(self.counts.sum()), dtype=np.int64)
        version[first[self.waits.queue] + self.waits.at] = np.arange(1, len(self.levels))
        version = np.maximum.accumulate(version)
        version[version <= np.repeat(self.first, self.counts)] = 0
        levels = np.array(self.levels[:-1], dtype=np.int64)
        return Order(self.counts, first, version, clocks_of(self.waits, levels, self.counts))
