"""What is said while a sweep goes on: rows done, points a minute, time left, how many failed, the best so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType

from archsim.base.progress import WorkStretch, stretch
from archsim.lab.sweep.run import SweepWatch
from archsim.lab.sweep.worker import FAILED, OK, SweepRow


class SweepStretches:
    """A stretch of work for each fidelity of a sweep, for whoever shows progress. A context."""

    def __init__(self, goal: str, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        """``goal``: key of a number, behind ``max`` or ``min``; ``say`` prints a sentence for people."""
        self._say = say
        self._way, _, self._key = goal.partition(" ")
        self._clock, self._begun_s = clock, clock()
        self._rows: WorkStretch | None = None
        self._open: AbstractContextManager[WorkStretch] | None = None
        self._worked = self._failed = 0
        self._best: float | None = None

    def __enter__(self) -> SweepStretches:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            self._open.__exit__(None, None, None)
        self._open = self._rows = None

    def begin(self, fidelity: str, rows: int) -> None:
        """So many rows are to be had at a fidelity; those of the one before are done."""
        self.__exit__(None, None, None)
        self._worked, self._failed, self._best, self._begun_s = 0, 0, None, self._clock()
        self._open = stretch(fidelity, "rows", rows)
        self._rows = self._open.__enter__()

    def known(self, rows: int) -> None:
        """So many rows further that are there already."""
        if self._rows is not None:
            self._rows.add(rows)
            self._rows.known += rows

    def row(self, row: SweepRow) -> None:
        """One row further."""
        if self._rows is None:
            return
        self._worked += 1
        self._failed += row.status == FAILED
        number = row.numbers.get(self._key) if row.status == OK else None
        if number is not None:
            better = max if self._way == "max" else min
            self._best = number if self._best is None else better(self._best, number)
        self._rows.add()
        self._rows.at = self._said()

    def ranked(self, sentences: Sequence[str]) -> None:
        """See ``Watch.ranked``."""
        for sentence in sentences:
            self._say(sentence)

    def _said(self) -> str:
        took_s = self._clock() - self._begun_s
        rate = f"{60 * self._worked / took_s:.0f} a minute" if took_s > 0 else ""
        failed = f"{self._failed} failed" if self._failed else ""
        best = f"best {self._key} {self._best:.4g}" if self._best is not None else ""
        return ", ".join(filter(None, (rate, failed, best)))


class SweepPace:
    """Tells ``watch`` all it is told, and counts. Rows that were there already do not count."""

    def __init__(self, watch: SweepWatch, clock: Callable[[], float] = time.monotonic) -> None:
        self._watch, self._clock, self._began_s = watch, clock, clock()
        self.rows = 0

    def begin(self, fidelity: str, rows: int) -> None:
        """See ``Watch.begin``."""
        self._watch.begin(fidelity, rows)

    def known(self, rows: int) -> None:
        """See ``Watch.known``."""
        self._watch.known(rows)

    def row(self, row: SweepRow) -> None:
        """See ``Watch.row``."""
        self.rows += 1
        self._watch.row(row)

    def ranked(self, sentences: Sequence[str]) -> None:
        """See ``Watch.ranked``."""
        self._watch.ranked(sentences)

    def __str__(self) -> str:
        """``254 rows in 62 s: 245 points a minute``."""
        seconds = self._clock() - self._began_s
        rate = f": {60 * self.rows / seconds:,.0f} points a minute" if self.rows and seconds > 0 else ""
        return f"{self.rows:,} row{'s' if self.rows != 1 else ''} in {seconds:,.0f} s{rate}"
