"""How an operand's tile lies in its tensor and in a slot: axis components, tile ranges, strides.

An axis ``sum(coef * dim) + offset`` is one dense window when neighbouring positions overlap (a 3-tap filter at stride 1
or 2), else it is split in components (a 1x1 filter at stride 2 fetches every second row only).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from archsim.ir.workload import Axis
from mapper.problem.strides import Padding, padding

Counts = NDArray[np.int64]
Terms = tuple[tuple[str, int], ...]  # of a sum over dims: each with how far one index of it moves on
UNCUT: Mapping[str, int] = MappingProxyType({})  # filter taps of which none are cut
SPLITS = 4096  # axes whose components are remembered: those of a model's layers, from one design to the next


def positions(terms: Terms, tile: Mapping[str, int]) -> int:
    """How many positions along an axis a tile of dims covers, from the first to the last.

    The one place where this is said: what the search ranks by, what is counted, and what moves all follow from it.
    """
    return sum([coef * (tile[dim] - 1) for dim, coef in terms]) + 1


@dataclass(frozen=True)
class Component:
    """One dense progression of an axis: index = ``unit`` * (sum(coef * dim)) + ``offset``.

    ``clip`` = axis length or None.
    """

    axis: int
    terms: tuple[tuple[str, int], ...]
    unit: int
    offset: int
    clip: int | None

    @cached_property
    def name(self) -> str:
        """Extent name in move commands: the dims joined."""
        return "_".join(dim for dim, _ in self.terms) or f"axis{self.axis}"

    @property
    def has_extent(self) -> bool:
        """Whether it moves, or has one position that may lie in the padding: then a move needs an extent for it."""
        return bool(self.terms) or self.clip is not None

    def size(self, tiles: Mapping[str, int]) -> int:
        """Positions covered by a tile."""
        return positions(self.terms, tiles)

    def tiled_dim(self, beside: frozenset[str]) -> str | None:
        """The one dim of this component that its tiles follow, if any; ``beside``: those that only stand beside others,
        filter taps and dims that loops never cut."""
        for dim, _ in self.terms:
            if dim not in beside:
                return dim
        return None

    def taps(self, cut: Mapping[str, int], dim: str | None) -> Mapping[str, int]:
        """Of dims that are ``cut`` into tiles those that are this component's, beside the one that its tiles follow."""
        return {name: cut[name] for name, _ in self.terms if name in cut and name != dim}

    def step(self, dim: str) -> int:
        """Coefficient of ``dim`` (0 when absent)."""
        return dict(self.terms).get(dim, 0)


def components(axes: tuple[Axis, ...], shape: tuple[int, ...], dims: Mapping[str, int]) -> tuple[Component, ...]:
    """Components of all axes, in memory order."""
    found: list[Component] = []
    for index, axis in enumerate(axes):
        sizes = tuple([dims[dim] for dim, _ in axis.terms])
        found.extend(_split(index, axis.terms, axis.offset, shape[index], sizes))
    return tuple(found)


@lru_cache(maxsize=SPLITS)
def _split(
    index: int, terms: tuple[tuple[str, int], ...], offset: int, length: int, sizes: tuple[int, ...]
) -> tuple[Component, ...]:
    """Components of axis ``index``; ``sizes``: of the dims of ``terms``."""
    dims = {dim: size for (dim, _), size in zip(terms, sizes, strict=True)}
    moving = sorted(((dim, coef) for dim, coef in terms if dims[dim] > 1), key=lambda term: (-term[1], term[0]))
    last = offset + sum(coef * (dims[dim] - 1) for dim, coef in moving)
    inside = offset >= 0 and last < length
    if inside and moving:
        (dim, coef), rest = moving[0], tuple(moving[1:])
        span = sum(c * (dims[d] - 1) for d, c in rest) + 1
        if coef >= span:
            outer = Component(index, ((dim, 1),), coef, offset, None)
            return (outer, Component(index, rest, 1, 0, None)) if rest else (outer,)
    return (Component(index, tuple(moving), 1, offset, None if inside else length),)


def slot_sizes(parts: tuple[Component, ...], tiles: Mapping[str, int]) -> tuple[int, ...]:
    """Positions per component of a slot that holds the largest tile."""
    return tuple(part.size(tiles) for part in parts)


def slot_padding(parts: tuple[Component, ...], dims: Mapping[str, int], element_bytes: int, pad_bytes: int) -> Padding:
    """Padding of an operand's slots, whatever the tiles."""
    return padding(slot_sizes(parts, dims), element_bytes, pad_bytes)


def halo(part: Component, dim: str, tile: int, dims: Mapping[str, int]) -> int:
    """Positions shared by neighbouring tiles of ``dim`` in a component (filter span - step x tile, at least 0)."""
    whole = {name: (tile if name == dim else dims[name]) for name, _ in part.terms}
    return max(0, part.size(whole) - part.step(dim) * tile)


def ranges(
    part: Component,
    dim: str | None,
    tile: int,
    dims: Mapping[str, int],
    sliding: bool,
    strip: int = 0,
    reach: int = 0,
    taps: Mapping[str, int] = UNCUT,
) -> tuple[Counts, Counts]:
    """(filled, touched) positions of each tile along ``dim`` (None: there is one), and along ``taps`` that are cut
    beside it into tiles of so many, (n,) each: filled includes padding, touched lies inside the tensor.

    ``sliding``: a tile after the first, of each strip of ``strip`` (0: of all), brings only what its predecessor did
    not hold. ``reach``: tiles begin anew after so many indices, of each core (0: of all).
    """
    starts, sizes = np.zeros(1, dtype=np.int64), np.array([part.size({**dims, **taps, **({dim: 1} if dim else {})})])
    if dim is not None:
        kept = halo(part, dim, tile, dims) if sliding else 0
        step, extent = part.step(dim), dims[dim]
        first, along = tiles_of(extent, tile, reach)
        skip = np.where(first % (reach or extent) % (strip or extent) > 0, kept, 0)
        starts, sizes = step * first + skip, sizes + step * (along - 1) - skip
    for tap, count in taps.items():
        first, along = tiles_of(dims[tap], count)
        starts = np.add.outer(starts, part.step(tap) * first).reshape(-1)
        sizes = np.add.outer(sizes, part.step(tap) * (along - count)).reshape(-1)
    return _clipped(part, starts, sizes)


def sums(
    part: Component,
    dim: str | None,
    tile: int,
    dims: Mapping[str, int],
    strip: int = 0,
    taps: Mapping[str, int] = UNCUT,
) -> tuple[int, int, int]:
    """(filled, touched, touched by the first) of all tiles of ``ranges``, which slide in strips of ``strip`` (0: they
    do not)."""
    if part.clip is not None or strip or taps:
        filled, touched = ranges(part, dim, tile, dims, strip > 0, strip, taps=taps)
        return int(filled.sum()), int(touched.sum()), int(touched[0])
    if dim is None:
        size = part.size(dims)
        return size, size, size
    count, rest = divmod(dims[dim], tile)
    whole, last = (part.size({**dims, dim: indices}) for indices in (tile, rest))
    total = count * whole + (last if rest else 0)
    return total, total, whole if count else last


def tiles_of(extent: int, tile: int, reach: int = 0) -> tuple[Counts, Counts]:
    """Starts and sizes of the tiles of a dim, which begin anew after every ``reach`` indices (0: never)."""
    firsts = range(0, extent, reach or extent)
    starts = np.concatenate([np.arange(first, min(first + (reach or extent), extent), tile) for first in firsts])
    ends = np.minimum(starts - starts % (reach or extent) + (reach or extent), extent)
    return starts, np.minimum(tile, ends - starts)


def _clipped(part: Component, start: Counts, size: Counts) -> tuple[Counts, Counts]:
    if part.clip is None:
        return size, size
    low = np.maximum(0, start + part.offset)
    high = np.minimum(part.clip, start + size + part.offset)
    return size, np.maximum(0, high - low)
