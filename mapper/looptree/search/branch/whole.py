"""Where tiles need not divide: of which spaces every tiling is tried, and when two fan-outs are more than one."""

from __future__ import annotations

from collections.abc import Container
from itertools import combinations, pairwise, permutations

from mapper.looptree.hierarchy import Axis, Memory
from mapper.looptree.search.space import Space

ALL_BELOW = 64  # any tiles: of an extent up to this every tiling is tried
FREE_BELOW = 16  # the same where fan-outs side by side spread the same dim to memories: uneven parts of uneven parts
_CUT_TWICE = 3  # the least extent that two fan-outs can cut one after the other and leave some without work


def every_up_to(space: Space, pairs: Container[str] = ()) -> int:
    """The largest extent of which every tiling is tried (measured: studies/benchmarks/mapping_speed.py).

    ``pairs``: axes that stand for two.
    """
    parts = space.hierarchy.parts
    inner = max((i for i, part in enumerate(parts) if isinstance(part, Memory)), default=0)
    for first, second in pairwise(parts[: inner + 1]):
        if not isinstance(first, Axis):
            continue
        twice = isinstance(second, Axis) and set(space.spread[first.name]) & set(space.spread[second.name])
        if first.name in pairs or twice:
            return FREE_BELOW
    return ALL_BELOW


def partial_dims(space: Space) -> tuple[str, ...]:
    """Dims of which not every tiling of the space is tried, but equal parts and what the fan-outs take."""
    if space.factors != "any":
        return ()
    most = every_up_to(space)
    return tuple(dim for dim, extent in space.einsum.extents.items() if extent > most)


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
    return space.factors == "any" and any(_CUT_TWICE <= extent <= every_up_to(space) for extent in extents)
