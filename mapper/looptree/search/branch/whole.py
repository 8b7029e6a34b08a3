"""Of which spaces with any tiles every tiling is tried, and in which orders two fan-outs then differ."""

from __future__ import annotations

from itertools import combinations, permutations

from mapper.looptree.hierarchy import Axis, Memory
from mapper.looptree.search.space import Space

ALL_BELOW = 64  # any tiles: of an extent up to this every tiling is tried
_CUT_TWICE = 3  # the least extent that two fan-outs can cut one after the other


def partial_dims(space: Space) -> tuple[str, ...]:
    """Dims of which not every tiling of the space is tried, but equal parts and what the fan-outs take."""
    if space.factors != "any":
        return ()
    return tuple(dim for dim, extent in space.einsum.extents.items() if extent > ALL_BELOW)


def all_axis_orders(space: Space) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Orders of every run of fan-outs of a space."""
    return tuple(tuple(axis_orders(space, block)) for block in space.hierarchy.blocks() if isinstance(block[0], Axis))


def axis_orders(space: Space, axes: tuple[Memory | Axis, ...]) -> list[tuple[str, ...]]:
    """Orders of fan-outs side by side that are not equal to the costs.

    Those that cut no dim both commute, and so do cuts into equal parts: ceil(ceil(x / a) / b) = ceil(x / (a b)).
    """
    names = tuple(axis.name for axis in axes)
    if space.factors == "any" and any(_both(space, *pair) for pair in combinations(names, 2)):
        return list(permutations(names))
    return [names]


def _both(space: Space, first: str, second: str) -> bool:
    """Whether a dim of which every tiling is tried may be cut by two fan-outs."""
    extents = space.einsum.extents
    shared = [dim for dim in space.spread[first] if dim in space.spread[second]]
    return any(_CUT_TWICE <= extents[dim] <= ALL_BELOW for dim in shared)
