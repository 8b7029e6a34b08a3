"""All concrete repetitions of one command text, evaluated together: offsets, extents and clips as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archsim.ir.program import Affine, Clip, Command, Region
from archsim.ir.unroll import Step

IntArray = NDArray[np.int64]
Number = int | IntArray
INDEX = ""  # key of the command indices among the columns of loop variables


@dataclass(frozen=True, slots=True)
class Bounds:
    """Command ``index`` and bounding bytes [``low``, ``high``) of the repetitions that touch anything."""

    index: IntArray
    low: IntArray
    high: IntArray


class Repeats:
    """The unrolled ``steps`` of one ``command``, in order."""

    def __init__(self, command: Command, steps: Sequence[Step]) -> None:
        self.command = command
        self.steps = steps
        self._columns: dict[str, IntArray] = {}
        self._extents: dict[str, Number] = {}

    def by_fresh(self) -> tuple[Repeats, Repeats]:
        """The repetitions that start afresh, and those that continue an accumulation."""
        if not self.command.fresh:
            return self, Repeats(self.command, ())
        fresh = [step for step in self.steps if step.fresh]
        return Repeats(self.command, fresh), Repeats(self.command, [step for step in self.steps if not step.fresh])

    def bounds(self, region: Region) -> Bounds:
        """Bounding bytes of ``region`` relative to its store (tensor or slot), clamped and clipped."""
        low = high = self._affine(region.offset)
        high = high + region.element_bytes
        live: bool | NDArray[np.bool_] = True
        for dim, stride in region.strides:
            first, end = self._range(region, dim)
            live = live & (end > first)
            low = low + first * stride
            high = high + (end - 1) * stride
        if isinstance(live, bool) and live:
            return Bounds(self._index(), self._column_of(low), self._column_of(high))
        keep = np.broadcast_to(live, len(self.steps))
        return Bounds(self._index()[keep], self._column_of(low)[keep], self._column_of(high)[keep])

    def _index(self) -> IntArray:
        """Command indices."""
        if INDEX not in self._columns:
            values = [step.index for step in self.steps]
            self._columns[INDEX] = np.array(values, dtype=np.int64)
        return self._columns[INDEX]

    def _column_of(self, value: Number) -> IntArray:
        return value if isinstance(value, np.ndarray) else np.full(len(self.steps), value, dtype=np.int64)

    def _range(self, region: Region, dim: str) -> tuple[Number, Number]:
        """Indices [first, end) of an extent that exist in the tensor."""
        first: Number = 0
        end = self._extent(dim)
        for clip in region.clips:
            if clip.dim == dim:
                first, end = self._clipped(clip, first, end)
        return first, end

    def _clipped(self, clip: Clip, first: Number, end: Number) -> tuple[Number, Number]:
        start = self._affine(clip.start)
        return np.maximum(first, -start), np.minimum(end, clip.length - start)

    def _extent(self, dim: str) -> Number:
        if dim not in self._extents:
            extent = next(extent for extent in self.command.extents if extent.dim == dim)
            value: Number = extent.size
            for limit in extent.limits:
                value = np.minimum(value, self._affine(limit))
            self._extents[dim] = np.maximum(value, 0) if extent.limits else value
        return self._extents[dim]

    def _affine(self, affine: Affine) -> Number:
        value: Number = affine.const
        for var, coefficient in affine.terms:
            value = value + coefficient * self._column(var)
        return value

    def _column(self, var: str) -> IntArray:
        if var not in self._columns:
            self._columns[var] = np.array([step.env[var] for step in self.steps], dtype=np.int64)
        return self._columns[var]


def repeats_of(steps: Sequence[Step]) -> Iterator[Repeats]:
    """The commands of a queue with operands, grouped by their text, in order of first use."""
    groups: dict[int, list[Step]] = {}
    for step in steps:
        if step.command.reads or step.command.writes:
            groups.setdefault(id(step.command), []).append(step)
    for group in groups.values():
        yield Repeats(group[0].command, group)
