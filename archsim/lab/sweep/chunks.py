"""How tasks go out to workers that are far away: in chunks of a second, and singly where a worker has died.

A worker that dies takes along what it had begun, and nobody says which task killed it. So its tasks are tried again one
by one, each on a worker that has nothing else. One whose worker dies again and again is a row that says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from archsim.lab.sweep.executor import ATTEMPTS
from archsim.lab.sweep.worker import FAILED, SweepRow, SweepTask

CHUNK_S = 1.0  # of work at least: sending and collecting takes some ms
MOST = 256  # tasks of a chunk
AHEAD = 2  # chunks that a worker has for each of its threads, so that none waits
LONG_S = 5.0  # beside a chunk of that length the way of the next one is nothing


@dataclass(frozen=True)
class TaskChunk:
    """Tasks that go out together. ``alone``: a single one, for a worker that has nothing else; ``deaths``: of workers
    that had nothing else.
    """

    tasks: tuple[SweepTask, ...]
    seconds: float  # expected
    alone: bool = False
    deaths: int = 0


@dataclass
class WorkerHand:
    """What a worker has, in the order in which it takes it."""

    threads: int
    chunks: list[TaskChunk] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether it has enough to do."""
        if any(chunk.alone for chunk in self.chunks):
            return True
        long = sum(chunk.seconds for chunk in self.chunks) >= LONG_S * self.threads
        return len(self.chunks) >= self.threads * (1 if long else AHEAD)


class RowPace:
    """How long the rows of each model take, from those that are there."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}  # model -> rows, their seconds

    def learn(self, row: SweepRow) -> None:
        """A row is there."""
        total = self._seconds.setdefault(row.task.model.label, [0, 0.0])
        total[0] += 1
        total[1] += row.seconds

    def of(self, task: SweepTask) -> float:
        """Seconds that a task may take; a whole chunk's as long as nothing is known of its model."""
        rows, seconds = self._seconds.get(task.model.label, (0, 0.0))
        return seconds / rows if rows else CHUNK_S


class TaskChunks:
    """Tasks that are still to be handed out."""

    def __init__(self, tasks: Iterable[SweepTask]) -> None:
        self.pace = RowPace()
        self._todo = iter(tasks)
        self._next = next(self._todo, None)
        self._again: deque[TaskChunk] = deque()
        self._suspects: deque[TaskChunk] = deque()

    @property
    def over(self) -> bool:
        """Whether none is left."""
        return not (self._suspects or self._again or self._next)

    def take(self, hand: WorkerHand) -> TaskChunk | None:
        """The next chunk of a worker, put into its hand; None: nothing more now.

        While tasks wait whose worker died, workers finish what they have and take one of these.
        """
        if hand.full or (self._suspects and hand.chunks):
            return None
        found = self._suspects.popleft() if self._suspects else self._again.popleft() if self._again else self._cut()
        if found is not None:
            hand.chunks.append(found)
        return found

    def back(self, chunk: TaskChunk) -> None:
        """A chunk that was not worked on."""
        (self._suspects if chunk.alone else self._again).append(chunk)

    def lost(self, hand: WorkerHand, cause: str, *, blamed: bool = True) -> list[SweepRow]:
        """A worker is gone: what it had goes out again; rows of tasks whose workers died too often.

        ``blamed``: it died, so what it had begun (the first chunk of each thread) may have killed it.
        """
        begun = hand.chunks[: hand.threads] if blamed else []
        for chunk in hand.chunks[len(begun) :]:
            self.back(chunk)
        failed = []
        for chunk in begun:
            deaths = chunk.deaths + (len(begun) == len(chunk.tasks) == 1)
            for task in chunk.tasks:
                if deaths < ATTEMPTS:
                    self._suspects.append(TaskChunk((task,), self.pace.of(task), True, deaths))
                else:
                    failed.append(SweepRow(task, FAILED, cause))
        return failed

    def _cut(self) -> TaskChunk | None:
        """The next tasks that take a second together."""
        tasks: list[SweepTask] = []
        seconds = 0.0
        while seconds < CHUNK_S and len(tasks) < MOST and self._next is not None:
            tasks.append(self._next)
            seconds += self.pace.of(self._next)
            self._next = next(self._todo, None)
        return TaskChunk(tuple(tasks), seconds) if tasks else None
