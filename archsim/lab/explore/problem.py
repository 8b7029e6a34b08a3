"""What a method of design search is asked and told: choices on axes, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

Choices = tuple[int, ...]  # of each axis the index of a value


@dataclass(frozen=True, slots=True)
class DesignProblem:
    """``shape``: values of each axis; ``ordered``: whether neighbours on it are alike, as sizes are and dataflows are
    not; ``goals``: costs of a point; ``trials``: points that may be run, each once; equal seeds ask for equal points.
    """

    shape: tuple[int, ...]
    ordered: tuple[bool, ...]
    goals: int
    trials: int
    seed: int

    @property
    def spent(self) -> int:
        """Points that are asked for in all: no more than there are."""
        return min(self.trials, prod(self.shape))


@dataclass(frozen=True, slots=True)
class PointOutcome:
    """Of a point: ``costs``, the less the better, None where the point is impossible or failed; ``violations``: of each
    constraint by what share of its bound it is missed, 0 where it is met."""

    costs: tuple[float, ...] | None
    violations: tuple[float, ...] = ()


class SearchMethod(Protocol):
    """Asked for a batch of points, told what came of each, asked again. What it asks for depends on the problem and on
    what it was told, nothing else."""

    def ask(self) -> list[Choices]:
        """Points that were not asked for before; none when the trials are spent."""

    def tell(self, outcomes: Sequence[PointOutcome]) -> None:
        """What came of the points of the last batch, in their order."""


class SingleBatch:
    """A ``SearchMethod`` that learns nothing: one batch of ``points``, in the order of the grid."""

    def __init__(self, points: Sequence[Choices]) -> None:
        self._points = sorted(points)

    def ask(self) -> list[Choices]:
        """See ``SearchMethod.ask``."""
        asked, self._points = self._points, []
        return asked

    def tell(self, outcomes: Sequence[PointOutcome]) -> None:
        """See ``SearchMethod.tell``."""
