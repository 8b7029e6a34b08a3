"""The different tiles of a group's cuts: their extents, how often each occurs, and which are first and last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from mapper.problem.cuts import Cut

Sizes = tuple[int, ...]  # of the group's dims


@dataclass(frozen=True)
class TileClasses:
    """Of a group with ``names``: (values, dims) ``sizes`` of each different tile, (cuts, values) ``counts`` of it in
    each cut, and the value of each cut's ``first`` and ``last`` tile."""

    names: tuple[str, ...]
    sizes: IntArray
    counts: NDArray[np.float64]
    first: IntArray
    last: IntArray

    @property
    def volumes(self) -> IntArray:
        """Of each value."""
        found: IntArray = self.sizes.prod(axis=1)
        return found


def tile_classes(made: Sequence[Cut], dims: Mapping[str, int], names: tuple[str, ...], *, apart: bool) -> TileClasses:
    """The tiles of some cuts of a group.

    Only the volume of a tile matters, but where a dataflow may tell dims ``apart``: its first dim then stands for all.
    """
    index: dict[Sizes, int] = {}
    rows = [_classes(cut, dims, names, apart=apart) for cut in made]
    for row in rows:
        for tile in row:
            index.setdefault(tile, len(index))
    counts = np.zeros((len(rows), len(index)))
    for number, row in enumerate(rows):
        for tile, times in row.items():
            counts[number, index[tile]] = times
    first = [index[_plain([cut.tiles[dim] for dim in names], apart=apart)] for cut in made]
    last = [index[_plain([_last(dims[dim], cut.tiles[dim]) for dim in names], apart=apart)] for cut in made]
    sizes = np.array(list(index), dtype=np.int64).reshape(len(index), len(names))
    return TileClasses(names, sizes, counts, np.array(first, dtype=np.int64), np.array(last, dtype=np.int64))


def _classes(cut: Cut, dims: Mapping[str, int], names: Sequence[str], *, apart: bool) -> dict[Sizes, int]:
    """Different tiles of a cut with how often each occurs."""
    tiles = [cut.tiles[dim] for dim in names]
    if not any([dims[dim] % tile for dim, tile in zip(names, tiles, strict=True)]):
        return {_plain(tiles, apart=apart): prod([dims[dim] // tile for dim, tile in zip(names, tiles, strict=True)])}
    found: dict[Sizes, int] = {(): 1}
    for dim, tile in zip(names, tiles, strict=True):
        full, rest = divmod(dims[dim], tile)
        along = ((tile, full), (rest, 1)) if rest else ((tile, full),)
        found = {(*sizes, size): times * count for sizes, times in found.items() for size, count in along if count}
    if apart:
        return found
    plain: dict[Sizes, int] = {}
    for sizes, times in found.items():
        key = _plain(sizes, apart=False)
        plain[key] = plain.get(key, 0) + times
    return plain


def _plain(sizes: Sequence[int], *, apart: bool) -> Sizes:
    if apart or len(sizes) < 2:
        return tuple(sizes)
    return (prod(sizes), *[1] * (len(sizes) - 1))


def _last(extent: int, tile: int) -> int:
    """Extent of the last tile along a dim."""
    return extent - (-(-extent // tile) - 1) * tile
