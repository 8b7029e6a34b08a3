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


def uneven_dims(space: Space) -> dict[str, frozenset[str]]:
    """By axis the dims of which a temporal loop above it gives what none below it can: the two do not commute.

    Of 4 values in tiles of 3 three instances take 3 + 1 of one value each; that is no cut into as many parts, and two
    take 2 + 2. With tiles of any size inside, what is cut first also decides what is left over. See ``order_matters``.
    """
    found = {}
    for axis in space.hierarchy.axes:
        most = _most_uneven(space, idle_counts=space.convention.fractional or axis.most_used)
        extents = space.einsum.extents
        found[axis.name] = frozenset(dim for dim in space.spread[axis.name] if _CUT_TWICE <= extents[dim] <= most)
    return found


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
    extents = [space.einsum.extents[dim] for dim in space.spread[first] if dim in space.spread[second]]
    idle_counts = space.convention.fractional or any(space.hierarchy.axis(name).most_used for name in (first, second))
    most = _most_uneven(space, idle_counts=idle_counts)
    return any(_CUT_TWICE <= extent <= most for extent in extents)


def _most_uneven(space: Space, *, idle_counts: bool) -> int:
    """The largest extent that loops cut differently in another order of them, so that a cost can tell."""
    if space.factors == "divisors":
        return 0
    if idle_counts:
        return max(space.einsum.extents.values())
    return every_up_to(space) if space.factors == "any" else 0
