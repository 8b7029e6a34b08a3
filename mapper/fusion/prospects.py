"""What a chain of layers may spare as a group, found out step by step: only as far as the choice of groups asks.

At first a chain may spare all but what its busiest unit and DRAM do in any case; then what the best of its loops leaves
by the outlook on each; at last what the group does spare whose passes were searched.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mapper.fusion.candidates import Loops
from mapper.fusion.judging import Figure, Judge

MOST_SEARCHED = 3  # loops of a chain of which passes are searched, those of the best outlook


class Chances(Protocol):
    """What is known of a chain, before anything is searched and after that."""

    @property
    def before(self) -> Figure:
        """What its layers take one after the other."""

    @property
    def least(self) -> Figure:
        """What hardly any group of them undercuts."""

    @property
    def fault(self) -> str:
        """Why it did not fit where it was searched last, else ''."""

    def outlooks(self) -> list[LoopsFigure]:
        """What each of its loops may leave."""

    def searched(self, loops: Loops) -> Figure | None:
        """What it takes with these loops; None where that does not fit."""


class LoopsFigure(NamedTuple):
    """What a chain takes, or may take, with these loops."""

    figure: Figure
    loops: Loops


class Prospect:
    """A chain of layers whose group may spare something; a group that spares less than ``worth`` of what they take is
    none."""

    def __init__(self, chances: Chances, worth: float) -> None:
        self._chances, self._worth = chances, worth
        self._waiting: list[LoopsFigure] | None = None
        self._searched: list[LoopsFigure] = []

    @property
    def before(self) -> Figure:
        """What its layers take one after the other."""
        return self._chances.before

    @property
    def looked_at(self) -> bool:
        """Whether there are loops that move all its layers, as far as is known."""
        return self._waiting is None or bool(self._waiting or self._searched or self.fault)

    @property
    def fits(self) -> bool:
        """Whether a group of it was found that fits."""
        return bool(self._searched)

    @property
    def fault(self) -> str:
        """Why it did not fit where it was searched last; '' where it did, or was not searched."""
        return self._chances.fault

    def hope(self, judge: Judge) -> float:
        """What its group may spare, as far as is known."""
        if self._waiting is None:
            return self._spared(judge, self._chances.least)
        return max([self._spared(judge, each.figure) for each in (*self._searched, *self._waiting)], default=0.0)

    def known(self, judge: Judge) -> float:
        """What the best group that was searched spares; 0 where there is none."""
        return max([self._spared(judge, each.figure) for each in self._searched], default=0.0)

    def settled(self, judge: Judge) -> bool:
        """Whether its hope is what the best group does spare."""
        return self.hope(judge) <= self.known(judge)

    def best(self, judge: Judge) -> LoopsFigure:
        """The best group that was searched, of a chain that is known to spare something."""
        return min(self._searched, key=lambda each: judge.of(each.figure))

    def look(self, judge: Judge) -> None:
        """Find out more: what all loops may leave, or what the most hopeful of them takes."""
        if self._waiting is None:
            self._waiting = self._chances.outlooks()
            return
        hopeful = min(self._waiting, key=lambda each: judge.of(each.figure))
        self._waiting.remove(hopeful)
        taken = self._chances.searched(hopeful.loops)
        if taken is not None:
            self._searched.append(LoopsFigure(taken, hopeful.loops))
        if len(self._searched) >= MOST_SEARCHED:
            self._waiting.clear()

    def _spared(self, judge: Judge, figure: Figure) -> float:
        before, taken = judge.of(self._chances.before), judge.of(figure)
        return before - taken if taken < before * (1 - self._worth) else 0.0
