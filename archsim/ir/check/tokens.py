"""The token-only run: deadlock and lost tokens before time 0, and happens-before as vector clocks.

Queues advance in any order as far as their waits allow; because every source of tokens has one taker, the outcome does
not depend on that order. A queue's clock, which counts for each queue the commands that have ended in every token-legal
interleaving, changes at some of its waits only: each distinct one is kept once, and commands know its row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.deadlock import report_deadlock
from archsim.ir.check.ledger import Ledger, Wait
from archsim.ir.check.leftovers import check_ends

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
    run = _Run(ledger)
    run.go()
    if any(run.head[queue] < len(waits) for queue, waits in enumerate(ledger.waits)):
        report_deadlock(ledger, run.done)
    check_ends(ledger)
    return run.order()


class _Run:
    """State of the token run: commands finished and the next wait of each queue; rows of its clocks and since when."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        queues = len(ledger.steps)
        self.done = [0] * queues
        self.head = [0] * queues
        self.counts = np.array([len(steps) for steps in ledger.steps], dtype=np.int64)
        rows = 1 + sum(map(len, ledger.waits))  # the first: all start with nothing ended
        self.clocks = np.zeros((rows, queues), dtype=np.min_scalar_type(int(self.counts.max(initial=0))))
        self.used = 1
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
        waits, done = self.ledger.waits[queue], self.done
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
        done[queue] = len(self.ledger.steps[queue])

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
        clock = self.clocks[self.versions[queue][-1]]
        changed = self.clocks[self.used]
        for giver, index in wait.needs:
            if clock.item(giver) > index:
                continue
            row = self.versions[giver][bisect_right(self.since[giver], index) - 1]
            clock = np.maximum(clock, self.clocks[row], out=changed)
            if clock.item(giver) <= index:
                clock[giver] = index + 1
        if clock is changed:
            self.since[queue].append(wait.at)
            self.versions[queue].append(self.used)
            self.used += 1

    def order(self) -> Order:
        """What is known when every queue has run to its end."""
        version = np.empty(int(self.counts.sum()), dtype=np.int64)
        first = np.cumsum(self.counts) - self.counts
        for start, count, since, rows in zip(first, self.counts, self.since, self.versions, strict=True):
            version[start : start + count] = np.repeat(rows, np.diff([*since, int(count)]))
        return Order(self.counts, first, version, self.clocks[: self.used])
