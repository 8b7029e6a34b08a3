"""How few of an input's values that tiles bring lie inside its tensor, the others in its padding.

Along an axis ``p * step + r - before`` of a window r over an output position p, tiles of p are pieces one after the
other, so only few of them reach into the padding; each further piece brings at least as much as the first of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod

from archsim.ir.workload import Axis


def least_inside(axes: tuple[Axis, ...], shape: tuple[int, ...], dims: Mapping[str, int]) -> Fraction:
    """The least share inside a tensor of ``shape`` of all values that any tiling brings of it."""
    return prod((_share(axis, length, dims) for axis, length in zip(axes, shape, strict=True)), start=Fraction(1))


def _share(axis: Axis, length: int, dims: Mapping[str, int]) -> Fraction:
    """Along one axis; 0 where that is not known: of a window that is dilated or of more than two dims."""
    last = axis.offset + sum(step * (dims[dim] - 1) for dim, step in axis.terms)
    if axis.offset >= 0 and last < length:
        return Fraction(1)
    terms = [(step, dims[dim]) for dim, step in axis.terms if dims[dim] > 1]
    (step, extent), *rest = sorted(terms, reverse=True) or [(1, 1)]
    if len(rest) > 1 or any(near > 1 for near, _ in rest):
        return Fraction(0)
    taps = prod(count for _, count in rest)
    pieces = ((low, high) for low in range(taps) for high in range(low, taps))
    return min(_least(step, extent, low, high, axis.offset, length) for low, high in pieces)


def _least(step: int, extent: int, low: int, high: int, offset: int, length: int) -> Fraction:
    """Of tiles with the taps from ``low`` to ``high``, whatever the number of pieces in which positions are cut."""
    taps = high - low + 1
    before, behind = max(0, -offset - low), max(0, offset + step * (extent - 1) + high - (length - 1))
    least, outside = Fraction(1), 0
    for pieces in range(1, extent + 1):
        filled = min(taps, step) * (extent - pieces) + pieces * taps
        outside += max(0, before - (pieces - 1) * step) + max(0, behind - (pieces - 1) * step)
        least = min(least, Fraction(max(0, filled - outside), filled))
    return least
