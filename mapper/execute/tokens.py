"""Tokens and ring slots at run time: who may start, and which slot a queue holds.

A queue whose next command lacks a token sleeps until somebody gives that token, so that finding one that may start
costs no look at the tokens of all others: with 128 cores there are some 400 queues, nearly all of which wait.
"""

from __future__ import annotations

from collections import defaultdict

from archsim.ir.program import Program, Ring
from archsim.ir.unroll import Step

WRITER = ""  # stands for the queue that writes a ring


class Tokens:
    """Counts of every semaphore and ring of a Program."""

    def __init__(self, program: Program) -> None:
        """As at time 0."""
        self._rings = {ring.name: ring for ring in program.rings}
        self._meanings: dict[str, tuple[Ring | None, str]] = {}  # token -> its ring, and free or full
        self._sleepers: dict[str, list[str]] = defaultdict(list)  # token -> queues that lack it
        self._asleep: set[str] = set()
        self._count: dict[tuple[str, str], int] = defaultdict(int)  # (token, giving queue or '')
        self._taken: dict[tuple[str, str], int] = defaultdict(int)  # (ring, reading queue or WRITER)
        self._starts: dict[str, list[int]] = defaultdict(list)  # ring -> byte at which each slot taken begins
        for semaphore in program.semaphores:
            self._count[semaphore.name, ""] = semaphore.initial

    def ready(self, step: Step) -> bool:
        """Whether all waits of a command, the next one of its queue, are met; if not, the queue sleeps."""
        if step.queue in self._asleep:
            return False
        lacking = next((name for name, n in step.waits if self._available(step, name) < n), None)
        if lacking is None:
            return True
        self._asleep.add(step.queue)
        self._sleepers[lacking].append(step.queue)
        return False

    def take(self, step: Step) -> None:
        """Take the tokens that a command waits for."""
        for name, n in step.waits:
            ring, kind = self._ring(name)
            if ring is None:
                self._count[name, ""] -= n
            elif kind == "full":
                self._taken[ring.name, step.queue] += n
            else:
                self._claim(ring, n, step.command.retains)

    def give(self, step: Step) -> None:
        """Give the tokens that a command signals, and wake the queues that lack one of them."""
        for name, n in step.signals:
            ring, kind = self._ring(name)
            self._count[name, step.queue if ring is not None and kind == "free" else ""] += n
            self._asleep.difference_update(self._sleepers.pop(name, ()))

    def slot_start(self, ring: Ring, queue: str, writes: bool) -> int | None:
        """Byte of the ring's span at which the current slot of a queue begins; None before it has one."""
        number = self._taken[ring.name, WRITER if writes or queue == ring.writer else queue]
        return self._starts[ring.name][number - 1] if 0 < number <= len(self._starts[ring.name]) else None

    def slot_begin(self, ring: Ring, number: int) -> int:
        """Byte of the ring's span at which a slot begins, in the order in which slots were taken."""
        return self._starts[ring.name][number]

    def _claim(self, ring: Ring, n: int, retains: bool) -> None:
        for _ in range(n):
            starts = self._starts[ring.name]
            end = starts[-1] + ring.slot_bytes if starts else 0
            starts.append(end - (ring.retain if retains and starts else 0))
        self._taken[ring.name, WRITER] += n

    def _available(self, step: Step, name: str) -> int:
        ring, kind = self._ring(name)
        if ring is None:
            return self._count[name, ""]
        if kind == "full":
            return self._count[name, ""] - self._taken[ring.name, step.queue]
        freed = min(self._count[name, reader] for reader in ring.readers)
        return ring.slots + freed - self._taken[ring.name, WRITER]

    def _ring(self, name: str) -> tuple[Ring | None, str]:
        meaning = self._meanings.get(name)
        if meaning is None:
            stem, _, kind = name.rpartition(".")
            meaning = (self._rings.get(stem), kind) if kind in ("free", "full") else (None, "")
            self._meanings[name] = meaning
        return meaning
