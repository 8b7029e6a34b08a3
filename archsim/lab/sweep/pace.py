"""How fast a sweep goes: rows worked out, and points a minute."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from archsim.lab.sweep.run import Watch
from archsim.lab.sweep.worker import Row


class Pace:
    """Tells ``watch`` all it is told, and counts. Rows that were there already do not count."""

    def __init__(self, watch: Watch, clock: Callable[[], float] = time.monotonic) -> None:
        self._watch, self._clock, self._began_s = watch, clock, clock()
        self.rows = 0

    def begin(self, fidelity: str, rows: int) -> None:
        """See ``Watch.begin``."""
        self._watch.begin(fidelity, rows)

    def known(self, rows: int) -> None:
        """See ``Watch.known``."""
        self._watch.known(rows)

    def row(self, row: Row) -> None:
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
