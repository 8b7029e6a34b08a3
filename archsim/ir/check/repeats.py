"""All concrete repetitions of one command text, evaluated together: offsets, extents and clips as arrays.

A command text that is repeated a few times only is evaluated step by step with plain integers (``span``), which is
faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from archsim.ir.program import Affine, Command, Region
from archsim.ir.unroll import Step

IntArray = NDArray[np.int64]
Number = int | IntArray
FEW = 8  # repetitions below which plain integers are faster than arrays


@dataclass(frozen=True, slots=True)
class Bounds:
    """Command ``index`` and bounding bytes [``low``, ``high``) of the repetitions that touch anything."""

    index: list[int]
    low: list[int]
    high: list[int]


class Repeats:
    """The unrolled ``steps`` of one ``command``, in order."""

    def __init__(self, command: Command, steps: Sequence[Step]) -> None:
        """``steps`` are all of ``command``."""
        self.command = command
        self.steps = steps
        self._columns: dict[str, Number] = {}

    def by_fresh(self) -> tuple[Repeats, Repeats]:
        """The repetitions that start afresh, and those that continue an accumulation."""
        if not self.command.fresh:
            return self, Repeats(self.command, ())
        fresh = [step for step in self.steps if step.fresh]
        return Repeats(self.command, fresh), Repeats(self.command, [step for step in self.steps if not step.fresh])

    def bounds(self, region: Region) -> Bounds:
        """Bounding bytes of ``region`` relative to its store (tensor or slot), clamped and clipped.

        Of the table of a lookup: of all its rows.
        """
        index = [step.index for step in self.steps]
        if not index:
            return Bounds([], [], [])
        low = high = self._affine(region.offset)
        high = high + region.element_bytes + _rows_above(self.command, region)
        live: bool | NDArray[np.bool_] = True
        for dim, stride in region.strides:
            first, end = self._range(region, dim)
            live = live & (end > first)
            low = low + first * stride
            high = high + (end - 1) * stride
        if live is True:
            return Bounds(index, self._list(low), self._list(high))
        keep = np.broadcast_to(live, len(index)).tolist()
        columns = (index, self._list(low), self._list(high))
        return Bounds(*(list(compress(column, keep)) for column in columns))

    def _range(self, region: Region, dim: str) -> tuple[Number, Number]:
        """Indices [first, end) of an extent that exist in the tensor."""
        first: Number = 0
        end = self._extent(dim)
        for clip in region.clips:
            if clip.dim == dim:
                start = self._affine(clip.start)
                first, end = _larger(first, -start), _smaller(end, clip.length - start)
        return first, end

    def _extent(self, dim: str) -> Number:
        extent = next(extent for extent in self.command.extents if extent.dim == dim)
        if not extent.limits:
            return extent.size
        if len(self.steps) == 1:
            return self.steps[0].extents[dim]
        value: Number = extent.size
        for limit in extent.limits:
            value = _smaller(value, self._affine(limit))
        return _larger(value, 0)

    def _affine(self, affine: Affine) -> Number:
        value: Number = affine.const
        for var, coefficient in affine.terms:
            value = value + coefficient * self._column(var)
        return value

    def _column(self, var: str) -> Number:
        """Values of a loop variable: an array, or an integer where there is one step."""
        if len(self.steps) == 1:
            return self.steps[0].env[var]
        if var not in self._columns:
            self._columns[var] = np.array([step.env[var] for step in self.steps], dtype=np.int64)
        return self._columns[var]

    def _list(self, value: Number) -> list[int]:
        return value.tolist() if isinstance(value, np.ndarray) else [value] * len(self.steps)


def _larger(one: Number, two: Number) -> Number:
    if isinstance(one, int) and isinstance(two, int):
        return max(one, two)
    return np.maximum(one, two)


def _smaller(one: Number, two: Number) -> Number:
    if isinstance(one, int) and isinstance(two, int):
        return min(one, two)
    return np.minimum(one, two)


def repeats_of(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """The commands of a queue that touch operands, grouped by their text, in order of first use; if few, each alone."""
    groups: dict[int, list[Step]] = {}
    for step in steps:
        command = step.command
        if (command.reads or command.writes) and not step.is_empty:
            groups.setdefault(id(command), []).append(step)
    for group in groups.values():
        if len(group) < FEW:
            yield from ((step,) for step in group)
        else:
            yield group


def span(region: Region, step: Step) -> tuple[int, int]:
    """Bounding bytes [low, high) of ``region`` in one step, as ``Repeats.bounds`` has them; (0, 0) for none."""
    if region.clips:
        bounds = Repeats(step.command, (step,)).bounds(region)
        return (bounds.low[0], bounds.high[0]) if bounds.index else (0, 0)
    low = region.offset.at(step.env) if region.offset.terms else region.offset.const
    high = low + region.element_bytes
    if step.command.index is not None:
        high += _rows_above(step.command, region)
    extents = step.extents
    for dim, stride in region.strides:
        last = extents[dim] - 1
        if last < 0:
            return 0, 0
        high += last * stride
    return low, high


def _rows_above(command: Command, region: Region) -> int:
    """Bytes from the first row of a looked-up table to its last one."""
    index = command.index
    return (index.rows - 1) * index.row_bytes if index is not None and region is command.table else 0
