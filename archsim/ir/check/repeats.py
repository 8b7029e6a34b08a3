"""All runs of one command text in its nest, evaluated together: offsets, extents and clips as arrays.

Bounds count from a region's constant offset, so that equal texts of many cores are evaluated once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.nests import BoolArray, Runs
from archsim.ir.check.unrolled import Text
from archsim.ir.program import Affine, Clip, Extent, Region

IntArray = NDArray[np.int64]


class Bounds(NamedTuple):
    """Places in the nest and bounding bytes [``low``, ``high``), from the constant offset on, of the runs that touch
    anything."""

    at: IntArray
    low: IntArray
    high: IntArray


class Known:
    """What was evaluated of texts, by the parts of commands as objects, which the compiler shares among cores."""

    def __init__(self) -> None:
        self._repeats: dict[tuple[int, ...], Repeats] = {}

    def of(self, text: Text) -> Repeats:
        """The runs of a text and of all that run alike, with equal extents."""
        command = text.command
        key = (id(text.nest), text.number, id(command.extents), id(command.fresh))
        found = self._repeats.get(key)
        if found is None:
            found = self._repeats[key] = Repeats(text)
        return found


class Repeats:
    """The runs of a text in its nest that are not empty."""

    def __init__(self, text: Text) -> None:
        runs = text.nest.runs[text.number]
        values = {extent.dim: _extent(extent, runs) for extent in text.command.extents}
        live = np.ones(len(runs.at), dtype=np.bool_)
        for value in values.values():
            if not isinstance(value, int):
                live &= value > 0
        whole = bool(live.all())
        self.text = text
        self.runs = runs if whole else runs.pick(live)
        self.extents = values if whole else {dim: _picked(value, live) for dim, value in values.items()}
        self._bounds: dict[tuple[int | None, ...], Bounds] = {}

    def bounds(self, region: Region, rows_above: int, only: bool | None) -> Bounds:
        """Of ``region``, clamped and clipped; ``rows_above``: bytes from the first row of a looked-up table to its last
        one; ``only`` the runs that start afresh (True), or continue (False)."""
        terms = region.offset.terms
        key = (id(region.strides), id(terms), id(region.clips), region.element_bytes, rows_above, only)
        found = self._bounds.get(key)
        if found is None:
            found = self._bounds[key] = self._bounds_of(region, rows_above, only)
        return found

    def _bounds_of(self, region: Region, rows_above: int, only: bool | None) -> Bounds:
        low = _affine(Affine(0, region.offset.terms), self.runs)
        high = low + (region.element_bytes + rows_above)
        live = self._kept(only)
        for dim, stride in region.strides:
            if any(each.dim == dim for each in region.clips):
                first, end = self._range(dim, region.clips)
                live &= end > first
                low, high = low + first * stride, high + (end - 1) * stride
            else:
                high += (self.extents[dim] - 1) * stride
        if live.all():
            return Bounds(self.runs.at, low, high)
        return Bounds(self.runs.at[live], low[live], high[live])

    def _kept(self, only: bool | None) -> BoolArray:
        """Which runs are ``only`` asked for, None for all. Without a condition all start afresh."""
        if only is None:
            return np.ones(len(self.runs.at), dtype=np.bool_)
        fresh = np.isin(self.runs.at, self.text.nest.places(self.text.number, self.text.command.fresh))
        return fresh if only else ~fresh

    def _range(self, dim: str, clips: tuple[Clip, ...]) -> tuple[IntArray, IntArray]:
        """Indices [first, end) of a clipped extent that exist in the tensor."""
        first = np.zeros(len(self.runs.at), dtype=np.int64)
        end = first + self.extents[dim]
        for clip in clips:
            if clip.dim == dim:
                start = _affine(clip.start, self.runs)
                first, end = np.maximum(first, -start), np.minimum(end, clip.length - start)
        return first, end


def _picked(value: int | IntArray, keep: BoolArray) -> int | IntArray:
    return value if isinstance(value, int) else value[keep]


def _extent(extent: Extent, runs: Runs) -> int | IntArray:
    """Of each run; one number where nothing limits it."""
    if not extent.limits and extent.size > 0:
        return extent.size
    value = np.full(len(runs.at), extent.size, dtype=np.int64)
    for limit in extent.limits:
        np.minimum(value, _affine(limit, runs), out=value)
    return value


def _affine(affine: Affine, runs: Runs) -> IntArray:
    value = np.full(len(runs.at), affine.const, dtype=np.int64)
    for var, coefficient in affine.terms:
        value += coefficient * runs.env[var]
    return value
