"""A bar that says how a sweep goes on."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from archsim.lab.sweep.worker import FAILED, OK, Row
from archsim.report.console import PlainConsole


class Bar:
    """Rows done, failed, their rate, the time left, and the best of the first goal so far. A context."""

    def __init__(self, goal: str) -> None:
        """``goal``: key of a number, behind ``max`` or ``min``."""
        self._way, _, self._key = goal.partition(" ")
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[said]}", markup=False),
            TimeRemainingColumn(),
            console=PlainConsole(stderr=True),
        )
        self._task: TaskID | None = None
        self._failed = 0
        self._best: float | None = None

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, fidelity: str, rows: int) -> None:
        """A bar for the rows of a fidelity."""
        self._failed, self._best = 0, None
        self._task = self._progress.add_task(fidelity, total=rows, said="")

    def known(self, rows: int) -> None:
        """So many rows further that are there already."""
        if self._task is not None:
            self._progress.update(self._task, advance=rows)

    def row(self, row: Row) -> None:
        """One row further."""
        if self._task is None:
            return
        self._failed += row.status == FAILED
        number = row.numbers.get(self._key) if row.status == OK else None
        if number is not None:
            better = max if self._way == "max" else min
            self._best = number if self._best is None else better(self._best, number)
        self._progress.update(self._task, advance=1, said=self._said())

    def ranked(self, sentences: Sequence[str]) -> None:
        """Above the bars."""
        for sentence in sentences:
            self._progress.console.print(sentence, markup=False, highlight=False)

    def _said(self) -> str:
        assert self._task is not None
        speed = self._progress.tasks[self._task].speed
        rate = f"{60 * speed:.0f} rows/min" if speed else ""
        failed = f"{self._failed} failed" if self._failed else ""
        best = f"best {self._key} {self._best:.4g}" if self._best is not None else ""
        return ", ".join(filter(None, (rate, failed, best)))
