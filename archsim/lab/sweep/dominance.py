"""Who beats whom where figures have a band: pairwise over the rows of one model and fidelity, in NumPy.

A row beats another when it is no worse in every goal and better beyond the band in one that has a band, or better at
all in one that has none. The band is a factor: 1.1 asks for a figure 1.1 times as good, 1 for any that is better, so
that with factors of 1 this is Pareto dominance. Of a pair with two factors (chips of different classes) the larger one
counts. "Within the band of" is not transitive: a chain of points, each within the band of the next, may end far from
where it began; so every pair is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
RowSelection = Integers | Bools | slice | list[int]

PAIRS = 2_000_000  # judged at a time


@dataclass(frozen=True)
class GoalFigures:
    """``values``: of rows by goal, shape (rows, goals), not a number where there is none; ``factors``: bands of the
    same shape, 1 or more; ``largest``: of each goal whether more is better."""

    values: Floats
    factors: Floats
    largest: tuple[bool, ...]

    @property
    def costs(self) -> Floats:
        """The values turned so that less is better."""
        turned: Floats = self.values * np.where(np.array(self.largest, dtype=bool), -1.0, 1.0)
        return turned

    def of(self, rows: RowSelection) -> GoalFigures:
        """Those of some rows, by number or by truth."""
        return GoalFigures(self.values[rows], self.factors[rows], self.largest)


def front(figures: GoalFigures) -> Bools:
    """Of each row whether no other beats it."""
    found: Bools = beaters(figures, np.arange(len(figures.values))) < 0
    return found


def beaters(figures: GoalFigures, by: Integers) -> Integers:
    """Of each row the first of the rows ``by`` that beats it, -1 where none does."""
    found = np.full(len(figures.values), -1, dtype=np.int64)
    if not len(by):
        return found
    others, costs = figures.of(by), figures.costs
    for part in _parts(len(found), len(by)):
        beats = np.ones((part.stop - part.start, len(by)), dtype=bool)
        better = np.zeros_like(beats)
        for goal in range(len(figures.largest)):
            beats &= others.costs[None, :, goal] <= costs[part, None, goal]
            better |= _better(others, figures.of(part), goal)
        beats &= better
        found[part] = np.where(beats.any(axis=1), by[beats.argmax(axis=1)], -1)
    return found


def alike(figures: GoalFigures) -> Integers:
    """Of each row from how many others its figures with a band do not tell it: neither is better beyond the band in
    any of them. 0 where no goal has a band."""
    count = len(figures.values)
    found = np.zeros(count, dtype=np.int64)
    banded = [goal for goal in range(len(figures.largest)) if (figures.factors[:, goal] > 1).any()]
    for part in _parts(count, count) if banded else ():
        same = np.ones((part.stop - part.start, count), dtype=bool)
        for goal in banded:
            own = figures.of(part)
            same &= ~(_better(figures, own, goal) | _better(own, figures, goal).T)
        found[part] = same.sum(axis=1) - 1
    return found


def within(figures: GoalFigures, row: int, goal: int) -> Bools:
    """Of each row whether the band of one goal does not tell it from ``row``; only ``row`` where the goal has none."""
    own = figures.of([row])
    told = _better(figures, own, goal)[0] | _better(own, figures, goal)[:, 0]
    found: Bools = ~told & (np.maximum(figures.factors[:, goal], own.factors[0, goal]) > 1)
    found[row] = True
    return found


def excess(figures: GoalFigures) -> Floats:
    """Of each row by what factor it is beaten where bands are left out: the most by which a row that is no worse in
    every goal is better in one that has a band; 1 where none is."""
    costs, values = figures.costs, figures.values
    found = np.ones(len(values))
    for part in _parts(len(values), len(values)):
        no_worse = np.ones((part.stop - part.start, len(values)), dtype=bool)
        times = np.ones(no_worse.shape)
        for goal, largest in enumerate(figures.largest):
            no_worse &= costs[None, :, goal] <= costs[part, None, goal]
            if (figures.factors[:, goal] > 1).any():
                times = np.maximum(times, _times(values[part, goal], values[:, goal], largest))
        found[part] = np.where(no_worse, times, 1.0).max(axis=1, initial=1.0)
    return found


def chosen(figures: GoalFigures, most: int) -> list[int]:
    """At most so many rows of a front, the same whatever the order of the rows: the best in each goal, then those that
    no other is better than by the figures alone (evenly along the first goal where they are too many), then the least
    beaten ones."""
    count = len(figures.values)
    if count <= most:
        return list(range(count))
    costs, beaten = figures.costs, excess(figures)
    order = np.lexsort((*costs.T[::-1], beaten)).tolist()
    first = list(dict.fromkeys(_best(costs, goal) for goal in range(len(figures.largest))))
    plain = [row for row in order if beaten[row] == 1 and row not in first]
    room = max(0, most - len(first))
    if len(plain) > room:
        plain = [plain[(2 * at + 1) * len(plain) // (2 * room)] for at in range(room)]
        return sorted([*first, *plain][:most])
    rest = [row for row in order if row not in {*first, *plain}]
    return sorted([*first, *plain, *rest][:most])


def _best(costs: Floats, goal: int) -> int:
    """The row that is best in a goal, of equal ones the best in the others in their order."""
    others = [costs[:, other] for other in reversed(range(costs.shape[1])) if other != goal]
    return int(np.lexsort((*others, costs[:, goal]))[0])


def _better(by: GoalFigures, than: GoalFigures, goal: int) -> Bools:
    """Shape (rows of ``than``, rows of ``by``): better beyond the band in a goal; any difference where the factor is
    1."""
    times = np.maximum(by.factors[None, :, goal], than.factors[:, None, goal])
    mine, theirs = by.values[None, :, goal], than.values[:, None, goal]
    found: Bools = mine > theirs * times if by.largest[goal] else mine * times < theirs
    return found


def _times(values: Floats, others: Floats, largest: bool) -> Floats:
    """Shape (values, others): how many times as good the others are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = others[None, :] / values[:, None] if largest else values[:, None] / others[None, :]
    return np.nan_to_num(found, nan=1.0, posinf=np.finfo(float).max)


def _parts(rows: int, others: int) -> Iterator[slice]:
    """Slices of the rows in which no more than ``PAIRS`` pairs are judged at a time."""
    step = max(1, PAIRS // max(1, others))
    return (slice(at, min(at + step, rows)) for at in range(0, rows, step))
