"""The border of a tensor pinned on chip: slabs that cover each of its positions once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mapper.placement import Layout


@dataclass(frozen=True, slots=True)
class Slab:
    """A block of positions: ``sizes`` per axis from byte ``offset`` of the storage."""

    sizes: tuple[int, ...]
    offset: int


def slabs(layout: Layout, shape: tuple[int, ...]) -> Iterator[Slab]:
    """Before and after the contents along every padded axis, outermost first; corners belong to the outer axis."""
    whole = [extent + low + high for extent, (low, high) in zip(shape, layout.border, strict=True)]
    for axis, (low, high) in enumerate(layout.border):
        inner = [shape[i] if i < axis else whole[i] for i in range(len(shape))]
        begin = sum(layout.border[i][0] * layout.strides[i] for i in range(axis))
        for start, count in ((0, low), (whole[axis] - high, high)):
            if count:
                sizes = tuple(count if i == axis else size for i, size in enumerate(inner))
                yield Slab(sizes, begin + start * layout.strides[axis])
