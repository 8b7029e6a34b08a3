"""What a chain of layers may spare as a group, found out step by step: only as far as the choice of groups asks.

At first a chain may spare all but what its busiest unit and DRAM do in any case; then what the best of its loops leaves
by the outlook on each; at last what the group does spare whose passes were searched.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mapper.fusion.candidates import Loops

MOST_SEARCHED = 3  # loops of a chain of which passes are searched, those of the best outlook


class Chances(Protocol):
    """What is known of a chain: figures of the objective, before anything is searched and after that."""

    @property
    def before(self) -> float:
        """What its layers take one after the other."""

    @property
    def least(self) -> float:
        """What hardly any group of them undercuts."""

    def outlooks(self) -> list[tuple[float, Loops]]:
        """What each of its loops may leave, the least first."""

    def searched(self, loops: Loops) -> float:
        """What it takes with these loops; infinite where that does not fit."""


class _Best(NamedTuple):
    figure: float
    loops: Loops


class Prospect:
    """A chain whose group may spare ``hope``: as far as is known, until it is ``settled``."""

    def __init__(self, chances: Chances, worth: float) -> None:
        self._chances, self._worth = chances, worth
        self._waiting: list[tuple[float, Loops]] | None = None
        self._best: _Best | None = None
        self._searched = 0
        self.hope = self._spared(chances.least)

    @property
    def settled(self) -> bool:
        """Whether the hope is what the best group does spare."""
        return not self.hope or (self._waiting is not None and not self._waiting)

    @property
    def known(self) -> float:
        """What the best group that was searched spares; 0 where there is none."""
        return self._spared(self._best.figure) if self._best is not None else 0.0

    @property
    def loops(self) -> Loops:
        """Those of the best group that was searched, of a chain that is known to spare something."""
        assert self._best is not None
        return self._best.loops

    def look(self) -> None:
        """Find out more: what all loops may leave, or what the most hopeful of them takes."""
        if self._waiting is None:
            self._waiting = self._chances.outlooks()
        elif self._waiting:
            _, loops = self._waiting.pop(0)
            taken = self._chances.searched(loops)
            self._searched += taken < float("inf")
            if self._best is None or taken < self._best.figure:
                self._best = _Best(taken, loops)
        self._drop()
        figures = [self._best.figure] if self._best is not None else []
        self.hope = self._spared(min([*figures, *(figure for figure, _ in self._waiting[:1])], default=float("inf")))

    def _drop(self) -> None:
        """Loops that need not be searched any more."""
        assert self._waiting is not None
        known = self._best.figure if self._best is not None else float("inf")
        if self._searched >= MOST_SEARCHED:
            self._waiting.clear()
        self._waiting = [(figure, loops) for figure, loops in self._waiting if figure < known]

    def _spared(self, figure: float) -> float:
        before = self._chances.before
        return before - figure if figure < before * (1 - self._worth) else 0.0
