"""What bounds of a layer leave of its tiles: where tiles of a dim end early, and which dims depend on one another so.

A bound such as t <= s + past ends a tile of t behind the last row s of the same command. It does so where the bound
takes t off by single steps; what is left outside within a tile is computed and does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np

from archsim.base.arrays import IntArray
from archsim.ir.workload import Bound, Layer
from mapper.problem.geometry import tiles_of

KNOWN = 65536  # shares that are remembered: those of all tile sizes of a model's layers


@dataclass(frozen=True, slots=True)
class Trim:
    """Tiles of ``dim`` end before index ``offset`` + the sum over ``rising`` (dim, coefficient) at the last index of
    their tile + the sum over ``falling`` at the first one."""

    dim: str
    rising: tuple[tuple[str, int], ...]
    falling: tuple[tuple[str, int], ...]
    offset: int

    @property
    def others(self) -> tuple[str, ...]:
        """The dims on which it depends."""
        return tuple(dim for dim, _ in (*self.rising, *self.falling))

    def whole(self, names: frozenset[str], dims: Mapping[str, int]) -> Trim:
        """The same for tiles that have all of the dims of these ``names``."""
        last = sum(step * (dims[dim] - 1) for dim, step in self.rising if dim in names)
        rising = tuple(term for term in self.rising if term[0] not in names)
        falling = tuple(term for term in self.falling if term[0] not in names)
        return replace(self, rising=rising, falling=falling, offset=self.offset + last)


Trims = tuple[Trim, ...]


def trims(layer: Layer, spread: Collection[str] = ()) -> Trims:
    """All that bounds trim: outputs by one another, since sums begin with whole tiles of them; a reduction where its
    first index is always left, since there they begin, and where it is not ``spread`` over cores, each of which begins
    with another one."""
    outputs = {dim for axis in layer.output.axes for dim, _ in axis.terms}
    found = (trim for bound in layer.bounds for trim in _trims(layer, bound))
    return tuple(trim for trim in found if trim.dim in outputs or trim.dim not in spread)


def _trims(layer: Layer, bound: Bound) -> Iterator[Trim]:
    outputs = {dim for axis in layer.output.axes for dim, _ in axis.terms}
    for dim, step in bound.axis.terms:
        if step != -1:
            continue
        rest = tuple(term for term in bound.axis.terms if term[0] != dim)
        least = bound.axis.offset + sum(min(step * (layer.dims[other] - 1), 0) for other, step in rest)
        if bound.dims <= outputs or (dim not in outputs and least >= 0):
            rising = tuple(term for term in rest if term[1] > 0)
            yield Trim(dim, rising, tuple(term for term in rest if term[1] < 0), bound.axis.offset + 1)


def coupled(found: Trims, order: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The dims whose tiles depend on one another, group by group, each in this ``order``."""
    groups: list[set[str]] = []
    for trim in found:
        group = {trim.dim, *trim.others}
        met = [each for each in groups if each & group]
        groups = [*(each for each in groups if not each & group), group.union(*met)]
    return tuple(tuple(dim for dim in order if dim in group) for group in groups)


def trimmed(found: Trims, starts: Mapping[str, IntArray], sizes: Mapping[str, IntArray], dim: str) -> IntArray:
    """What is left of tiles of ``dim``, of which and of others the ``starts`` and clamped ``sizes`` are given."""
    left = sizes[dim]
    for trim in found:
        if trim.dim == dim:
            ends = sum(step * (starts[other] + sizes[other] - 1) for other, step in trim.rising)
            begins = sum(step * starts[other] for other, step in trim.falling)
            left = np.minimum(left, np.maximum(trim.offset + ends + begins - starts[dim], 0))
    return left


def share(
    found: Trims, dims: Mapping[str, int], tiles: Mapping[str, int], reach: Mapping[str, int] | None = None
) -> float:
    """The share of the points of all tiles that trimmed tiles have; ``tiles``: sizes of those of the dims on which
    trims depend, the whole of ``dims`` where they say nothing. ``reach``: what one core has of each dim; then it is the
    share of the core that has most left."""
    reach = dims if reach is None else reach
    others = sorted({other for trim in found for other in trim.others})
    sizes = tuple((dim, dims[dim], reach[dim], min(tiles.get(dim, dims[dim]), reach[dim])) for dim in others)
    return prod(_share(_of(found, dim), dims[dim], sizes) for dim in sorted({trim.dim for trim in found}))


def is_mutual(found: Trims) -> bool:
    """Whether dims trim one another."""
    trimmed_dims = {trim.dim for trim in found}
    return any(trimmed_dims.intersection(trim.others) for trim in found)


def joint_share(found: Trims, dims: Mapping[str, int], tiles: Mapping[str, int]) -> float:
    """The ``share`` of dims that trim one another, tile by tile of all of them."""
    tied = sorted({dim for trim in found for dim in (trim.dim, *trim.others)})
    return _joint_share(found, tuple((dim, dims[dim], tiles.get(dim, dims[dim])) for dim in tied))


@lru_cache(maxsize=KNOWN)
def _joint_share(found: Trims, sizes: tuple[tuple[str, int, int], ...]) -> float:
    starts, along = dict[str, IntArray](), dict[str, IntArray]()
    for place, (dim, extent, tile) in enumerate(sizes):
        shape = [-1 if at == place else 1 for at in range(len(sizes))]
        begin, size = tiles_of(extent, tile)
        starts[dim], along[dim] = begin.reshape(shape), size.reshape(shape)
    left = prod((trimmed(found, starts, along, dim) for dim, _, _ in sizes), start=np.ones((), dtype=np.int64))
    return float(np.sum(left) / prod(extent for _, extent, _ in sizes))


def _of(found: Trims, dim: str) -> Trims:
    return tuple(trim for trim in found if trim.dim == dim)


@lru_cache(maxsize=KNOWN)
def _share(found: Trims, extent: int, others: tuple[tuple[str, int, int, int], ...]) -> float:
    """Of one dim of ``extent``, whose tiles follow one another: so together they end where the last one does.
    ``others``: (dim, extent, what a core has of it, tile)."""
    used = [each for each in others if any(each[0] in trim.others for trim in found)]
    starts, sizes = dict[str, IntArray](), dict[str, IntArray]()
    weight, core = np.ones((), dtype=np.int64), np.zeros((), dtype=np.int64)
    for place, (dim, whole, reach, tile) in enumerate(used):
        begin, size = (each.reshape([-1 if at == place else 1 for at in range(len(used))]) for each in
                       tiles_of(whole, tile, reach))  # fmt: skip
        starts[dim], sizes[dim] = begin, size
        weight, core = weight * size, core * -(-whole // reach) + begin // reach
    (dim,) = {trim.dim for trim in found}
    starts[dim], sizes[dim] = np.zeros((), dtype=np.int64), np.full((), extent, dtype=np.int64)
    left = np.broadcast_to(trimmed(found, starts, sizes, dim) * weight, np.shape(weight))
    of_core = np.bincount(np.ravel(core), weights=np.ravel(left))
    return float(of_core.max() / (prod(reach for _, _, reach, _ in used) * extent))
