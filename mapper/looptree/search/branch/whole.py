"""Where tiles need not divide: of which spaces every tiling is tried, and when two fan-outs are more than one."""

from __future__ import annotations

from itertools import combinations, permutations

from mapper.looptree.hierarchy import Axis, Memory
from mapper.looptree.search.space import Space

ALL_BELOW = 64  # any tiles: of an extent up to this every tiling is tried
_CUT_TWICE = 3  # the least extent that two fan-outs can cut one after the other and leave some without work


def partial_dims(space: Space) -> tuple[str, ...]:
    """Dims of which not every tiling of the space is tried, but equal parts and what the fan-outs take."""
    if space.factors != "any":
        return ()
    return tuple(dim for dim, extent in space.einsum.extents.items() if extent > ALL_BELOW)


def all_axis_orders(space: Space) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Orders of every run of fan-outs of a space."""
    return tuple(tuple(axis_orders(space, block)) for block in space.hierarchy.blocks() if isinstance(block[0], Axis))


def axis_orders(space: Space, axes: tuple[Memory | Axis, ...]) -> list[tuple[str, ...]]:
    """Orders of fan-outs side by side that are not equal to the costs."""
    names = tuple(axis.name for axis in axes)
    if any(order_matters(space, *pair) for pair in combinations(names, 2)):
        return list(permutations(names))
    return [names]


def order_matters(space: Space, first: str, second: str) -> bool:
    """Whether two fan-outs side by side cut a dim differently when they are exchanged, and a cost can tell.

    Equal parts of equal parts are the same either way, ceil(ceil(x / a) / b) = ceil(x / (a b)), and no instance
    without work is needed for them. Where idle instances count (work spread evenly over all, a least use of a
    fan-out), or parts may be uneven, more can be had.
    """
    if space.factors == "divisors":
        return False
    extents = [space.einsum.extents[dim] for dim in space.spread[first] if dim in space.spread[second]]
    idle_count = space.convention.fractional or any(space.hierarchy.axis(name).most_used for name in (first, second))
    if idle_count:
        return max(extents, default=1) >= _CUT_TWICE
    return space.factors == "any" and any(_CUT_TWICE <= extent <= ALL_BELOW for extent in extents)
