"""All runs of one command text in its nest, evaluated together: offsets, extents and clips as arrays.

Bounds count from a region's constant offset, so that equal texts of many cores are evaluated once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.nests import Nest, Runs
from archsim.ir.check.unrolled import Text
from archsim.ir.program import Affine, Clip, Command, Extent, Region

IntArray = NDArray[np.int64]
Extents = dict[str, IntArray]


class Bounds(NamedTuple):
    """Places in the nest and bounding bytes [``low``, ``high``), from the constant offset on, of the runs that touch
    anything."""

    at: IntArray
    low: IntArray
    high: IntArray


class Repeats:
    """Runs of command texts of one nest and number that have equal extents."""

    def __init__(self, runs: Runs, extents: tuple[Extent, ...]) -> None:
        values = {extent.dim: _extent(extent, runs) for extent in extents}
        live = np.ones(len(runs.at), dtype=np.bool_)
        for value in values.values():
            live &= value > 0
        whole = bool(live.all())
        self.runs = runs if whole else runs.pick(live)
        self.extents = values if whole else {dim: value[live] for dim, value in values.items()}

    def bounds(self, region: Region, rows_above: int, keep: IntArray | None) -> Bounds:
        """Of ``region``, clamped and clipped; ``rows_above``: bytes from the first row of a looked-up table to its last
        one; ``keep``: places of runs, None for all of them."""
        count = len(self.runs.at)
        low = _affine(Affine(0, region.offset.terms), self.runs)
        high = low + (region.element_bytes + rows_above)
        live = np.ones(count, dtype=np.bool_) if keep is None else np.isin(self.runs.at, keep, assume_unique=True)
        for dim, stride in region.strides:
            first, end = self._range(dim, region.clips)
            live &= end > first
            low, high = low + first * stride, high + (end - 1) * stride
        if live.all():
            return Bounds(self.runs.at, low, high)
        return Bounds(self.runs.at[live], low[live], high[live])

    def _range(self, dim: str, clips: tuple[Clip, ...]) -> tuple[IntArray, IntArray]:
        """Indices [first, end) of an extent that exist in the tensor."""
        end = self.extents[dim]
        first = np.zeros_like(end)
        for clip in clips:
            if clip.dim == dim:
                start = _affine(clip.start, self.runs)
                first, end = np.maximum(first, -start), np.minimum(end, clip.length - start)
        return first, end


def _extent(extent: Extent, runs: Runs) -> IntArray:
    value = np.full(len(runs.at), extent.size, dtype=np.int64)
    for limit in extent.limits:
        np.minimum(value, _affine(limit, runs), out=value)
    return value


def _affine(affine: Affine, runs: Runs) -> IntArray:
    value = np.full(len(runs.at), affine.const, dtype=np.int64)
    for var, coefficient in affine.terms:
        value += coefficient * runs.env[var]
    return value


class Known:
    """What was evaluated of texts of the same nest and number, by what bounds depend on: the parts of commands, as
    objects, which the compiler shares among cores."""

    def __init__(self) -> None:
        self._repeats: dict[tuple[int, ...], Repeats] = {}
        self._bounds: dict[tuple[int | None, ...], Bounds] = {}

    def bounds(self, text: Text, region: Region, only: bool | None) -> Bounds:
        """Bounds of an operand of a text; ``only`` the runs that start afresh (True), or continue (False)."""
        command, nest, number, _ = text
        index = command.index
        above = (index.rows - 1) * index.row_bytes if index is not None and region is command.table else 0
        key = (
            id(nest),
            number,
            id(command.extents),
            id(command.fresh),
            id(region.strides),
            id(region.offset.terms),
            id(region.clips),
            region.element_bytes,
            above,
            only,
        )
        found = self._bounds.get(key)
        if found is None:
            keep = _kept(nest, number, command, only)
            found = self._bounds[key] = self._of(text).bounds(region, above, keep)
        return found

    def _of(self, text: Text) -> Repeats:
        key = (id(text.nest), text.number, id(text.command.extents))
        found = self._repeats.get(key)
        if found is None:
            found = self._repeats[key] = Repeats(text.nest.runs[text.number], text.command.extents)
        return found


def _kept(nest: Nest, number: int, command: Command, only: bool | None) -> IntArray | None:
    """Places of the runs that are ``only`` asked for; None for all. Without a condition all start afresh."""
    if only is None or (only and not command.fresh):
        return None
    fresh = nest.places(number, command.fresh)
    return fresh if only else np.setdiff1d(nest.runs[number].at, fresh, assume_unique=True)
