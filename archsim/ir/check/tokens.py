"""The token-only run: deadlock and lost tokens before time 0, and happens-before as vector clocks.

Queues advance in any order as far as their waits allow; because every source of tokens has one taker, the outcome does
not depend on that order. ``Order.clocks[q][i, p]`` is the number of commands of queue p that have ended when command
i of queue q starts, in every token-legal interleaving.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.deadlock import report_deadlock
from archsim.ir.check.ledger import Ledger, Wait
from archsim.ir.check.leftovers import check_ends

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Order:
    """Happens-before over queue numbers; ``clocks[q]`` has shape (commands of q, queues)."""

    clocks: list[IntArray]


def run_tokens(ledger: Ledger) -> Order:
    """Run the Program's tokens alone; raises ProgramError on deadlock and on lost tokens."""
    run = _Run(ledger)
    run.go()
    if any(run.head[queue] < len(waits) for queue, waits in enumerate(ledger.waits)):
        report_deadlock(ledger, run.done)
    check_ends(ledger)
    return Order([run.clocks(queue) for queue in range(len(ledger.steps))])


class _Run:
    """State of the token run: commands finished, the next wait and the vector clock of each queue."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        queues = len(ledger.steps)
        self.done = [0] * queues
        self.head = [0] * queues
        self.changes: list[list[int]] = [[0] for _ in range(queues)]
        self.versions: list[list[list[int]]] = [[[0] * queues] for _ in range(queues)]
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
        for at in range(self.head[queue], len(waits)):
            wait = waits[at]
            done[queue] = wait.index
            blockers = self._blockers(wait)
            if blockers:
                self.head[queue] = at
                for blocker in blockers:
                    self.sleepers[blocker].append(queue)
                return
            self._merge(queue, wait)
        self.head[queue] = len(waits)
        done[queue] = len(self.ledger.steps[queue])

    def _blockers(self, wait: Wait) -> Sequence[int]:
        """Queues whose progress this wait is short of."""
        for queue, index in wait.needs:
            if self.done[queue] <= index:
                return (queue,)
        for source, taken in wait.counted:
            if source.available(self.done) < taken:
                return [queue for queue, _ in source.givers]
        return ()

    def _merge(self, queue: int, wait: Wait) -> None:
        """The clock of ``queue`` from this command on: what its givers knew, and the givers themselves."""
        clock = self.versions[queue][-1]
        for giver, index in wait.needs:
            if clock[giver] > index:
                continue
            theirs = self._clock(giver, index)
            clock = [a if a > b else b for a, b in zip(clock, theirs, strict=True)]
            clock[giver] = max(clock[giver], index + 1)
        if clock is not self.versions[queue][-1]:
            self.changes[queue].append(wait.index)
            self.versions[queue].append(clock)

    def _clock(self, queue: int, index: int) -> list[int]:
        return self.versions[queue][bisect_right(self.changes[queue], index) - 1]

    def clocks(self, queue: int) -> IntArray:
        """One row per command of ``queue``; its own column counts the commands before it."""
        count = len(self.ledger.steps[queue])
        starts = np.array([*self.changes[queue], count], dtype=np.int64)
        rows = np.repeat(np.array(self.versions[queue], dtype=np.int64), np.diff(starts), axis=0)
        rows[:, queue] = np.arange(count)
        return rows
