"""The points of a sweep: every choice of one value on each axis, zipped axes together, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from archsim.lab.sweep.form import Sweep


@dataclass(frozen=True, slots=True)
class DesignPoint:
    """A design: its number in the grid, and a value for each axis, by key path in the order of the file."""

    number: int
    values: Mapping[str, object]


class SweepGrid:
    """All points of a sweep; the last axis changes first. ``groups``: numbers of the axes that move together, in the
    order of their first axes; ``shape``: choices of each."""

    def __init__(self, sweep: Sweep) -> None:
        zipped = {axis: group for group in sweep.zips for axis in group}
        self._axes = sweep.axes
        together = [zipped.get(axis, (axis,)) for axis in range(len(sweep.axes))]
        self.groups = tuple(dict.fromkeys(tuple(sorted(group)) for group in together))
        self.shape = tuple([len(self._axes[group[0]].values) for group in self.groups])

    def __len__(self) -> int:
        return prod(self.shape)

    def __iter__(self) -> Iterator[DesignPoint]:
        return map(self.point, range(len(self)))

    def point(self, number: int) -> DesignPoint:
        """The point of a number, from 0."""
        choices = []
        rest = number
        for size in reversed(self.shape):
            choices.append(rest % size)
            rest //= size
        return self._of(number, choices[::-1])

    def at(self, choices: Sequence[int]) -> DesignPoint:
        """The point of a choice for each group."""
        number = 0
        for size, choice in zip(self.shape, choices, strict=True):
            number = number * size + choice
        return self._of(number, choices)

    def _of(self, number: int, choices: Sequence[int]) -> DesignPoint:
        chosen = {axis: choice for group, choice in zip(self.groups, choices, strict=True) for axis in group}
        return DesignPoint(number, {axis.key: axis.values[chosen[at]] for at, axis in enumerate(self._axes)})
