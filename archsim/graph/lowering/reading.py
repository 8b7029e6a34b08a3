"""Decides how each input of a layer is read: in place, in place with dims cut in parts, or from a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod

from archsim.ir.graph import Shape
from archsim.ops.kit.access import (
    DimSplit,
    DimSplits,
    LogicalAccess,
    descending,
    factor_axes,
    pure,
    refine,
    wanted_splits,
)
from archsim.ops.kit.layout import LogicalLayout


@dataclass(frozen=True, slots=True)
class InputReading:
    """An input and where it lies (None for constants)."""

    access: LogicalAccess
    layout: LogicalLayout | None


def read_all(
    reads: Iterable[LogicalAccess],
    layout_of: Callable[[str], LogicalLayout | None],
    copied: Callable[[str], LogicalLayout],
    free: tuple[str, ...],
) -> tuple[tuple[InputReading, ...], DimSplits]:
    """Readings of all inputs, and the dims to cut.

    Dims of ``free`` are cut whatever the strides; others only where inner parts step in smaller strides. What cannot be
    read so is ``copied`` first.
    """
    cuts: dict[str, Shape] = {}
    readings: list[InputReading] = []
    for access in reads:
        layout = layout_of(access.value)
        if layout is not None:
            joined = _joined(cuts, access, layout, free)
            if joined is None:
                layout = copied(access.value)
            else:
                cuts = joined
        readings.append(InputReading(access, layout))
    return tuple(readings), {dim: _named(dim, extents) for dim, extents in cuts.items()}


def by_stride(dims: tuple[str, ...], reading: InputReading, splits: DimSplits) -> tuple[str, ...]:
    """Dims in the order in which ``reading`` steps through memory, largest stride first."""
    strides: dict[str, int] = {}
    if reading.layout is not None:
        for axis, factors in zip(reading.access.index, reading.layout.axes, strict=True):
            for factor, index in zip(factors, factor_axes(axis, factors, splits), strict=True):
                for dim, coefficient in index.terms:
                    strides[dim] = max(strides.get(dim, 0), factor.stride * coefficient)
    return tuple(sorted(dims, key=lambda dim: -strides.get(dim, 0)))


def _joined(
    cuts: dict[str, Shape], access: LogicalAccess, layout: LogicalLayout, free: tuple[str, ...]
) -> dict[str, Shape] | None:
    """``cuts`` refined so that ``layout`` can be read, or None."""
    wanted = wanted_splits(access, layout)
    if wanted is None or (access.lookup is not None and len(layout.axes[access.axis]) > 1):
        return None
    joined = dict(cuts)
    for axis, factors in zip(access.index, layout.axes, strict=True):
        dim = pure(axis)
        if dim not in wanted or len(factors) < 2:
            continue
        if dim not in free and not descending(factors):
            return None
        refined = refine(cuts.get(dim, (prod(wanted[dim]),)), wanted[dim])
        if refined is None:
            return None
        joined[dim] = refined
    return joined


def _named(dim: str, extents: Shape) -> DimSplit:
    return DimSplit(tuple((f"{dim}_{index}", extent) for index, extent in enumerate(extents)))
