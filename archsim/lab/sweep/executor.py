"""Who works on the tasks of a sweep: processes of this machine, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Protocol

from archsim.lab.sweep.worker import SweepRow, SweepTask

ATTEMPTS = 2  # a task that fails so often is a row that says why


class SweepExecutor(Protocol):
    """A context: who leaves it in the middle stops all work, and nothing is left behind."""

    def rows(self, tasks: Iterable[SweepTask], seconds: float | None = None) -> Iterator[SweepRow]:
        """The row of each task as it is done, in any order; ``seconds``: that a task may take.

        Tasks are taken as they are needed. What raises, dies, hangs or runs out of memory is tried once more, then it
        is a row with status ``failed`` and its cause; other tasks lose nothing.
        """

    def __enter__(self) -> SweepExecutor: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
