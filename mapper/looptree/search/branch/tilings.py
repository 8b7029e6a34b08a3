"""All tilings of a dim, their tiles and how often each occurs. Compiled.

A tiling of a dim is the tile below each of its loops. Loops on axes have their trips given (the option);
temporal loops share the rest: its divisors, or any tiles.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import entry, inlined, njit
from archsim.base.words import WordTable
from mapper.looptree.search.branch.costing import LARGEST, ONE
from mapper.looptree.search.branch.plan import MOST_LOOPS, MOVING, NO_LOOP, TEMPORAL
from mapper.looptree.search.branch.rows import put

DIVISORS, SPATIAL, ANY, EQUAL = range(4)  # factors; of any tiles equal parts alone
_FIRST_ROOM = 256  # tilings


class Levels(NamedTuple):
    """Room for the loops of a dim while its tilings are made, outermost first: rounds ``left`` and the ``tile`` above
    each, what was ``tried`` of ``many`` ``choices``.
    """

    left: Any
    tile: Any
    tried: Any
    many: Any
    choices: Any


def levels_of(extent: int, kind: int) -> Levels:
    """Room for tilings of extents up to this; those of ``kind`` are tried."""
    left, tile, tried, many = np.empty((4, MOST_LOOPS + 1), np.int64)
    return Levels(left, tile, tried, many, np.empty((MOST_LOOPS + 1, most_choices(extent, kind)), np.int64))


def most_choices(extent: int, kind: int) -> int:
    """How many tiles of a dim are listed at most for a loop: an extent has at most 2 sqrt(extent) equal parts."""
    if kind < ANY:
        return 0
    return extent if kind == ANY else 4 * isqrt(extent) + 8


@entry
@inlined
def kind_of(extent: int, factors: int, every: int) -> int:
    """Which tilings of an extent are tried: of any those of extents up to ``every``."""
    return EQUAL if factors == ANY and extent > every else factors


@njit
def count_loops(loops: Any) -> int:
    """Loops of a dim of a shape."""
    count = 0
    while count < MOST_LOOPS and loops[count] != NO_LOOP:
        count += 1
    return count


@inlined
def is_temporal(kind: int) -> bool:
    """Whether a loop is no loop of an axis."""
    return kind in (TEMPORAL, MOVING)


@njit
def spread_below(loops: Any, shares: Any, start: int) -> int:
    """Product of the trips of the axes from loop ``start`` on."""
    product = 1
    for i in range(start, count_loops(loops)):
        if not is_temporal(loops[i]):
            product *= shares[loops[i]]
    return product


@njit
def temporal_from(loops: Any, start: int) -> int:
    """Temporal loops from loop ``start`` on."""
    count = 0
    for i in range(start, count_loops(loops)):
        count += is_temporal(loops[i])
    return count


class Tiler:
    """Makes the tilings of dims, in room that is kept from one to the next."""

    def __init__(self) -> None:
        self._levels: dict[int, WordTable] = {}  # by kind

    def tilings(self, loops: Any, extent: int, shares: Any, kind: int) -> Any:
        """(tilings, loops) tiles of a dim; none where its loops cannot bring it down to 1.

        ``EQUAL``: of any tiles those that cut others into equal parts, also rounded up to what the axes inside take.
        """
        levels, depth = self._room(extent, kind), max(1, int(np.count_nonzero(loops != NO_LOOP)))
        found = np.empty((_FIRST_ROOM, depth), np.int64)
        count = fill_tilings(loops, extent, shares, kind, levels, found)
        if count > len(found):
            found = np.empty((count, depth), np.int64)
            fill_tilings(loops, extent, shares, kind, levels, found)
        return found[:count].copy()

    def _room(self, extent: int, kind: int) -> WordTable:
        known = self._levels.get(kind)
        if known is None or known.value.choices.shape[1] < most_choices(extent, kind):
            self._levels[kind] = known = WordTable(levels_of(2 * extent, kind))
        return known


@entry
@njit
def fill_tilings(loops: Any, extent: int, shares: Any, factors: int, levels: Any, found: Any) -> int:
    """Fill ``found`` with as many tilings as it has rows; how many there are."""
    depth, count = count_loops(loops), 0
    left, tile, tried, many, choices = levels.left, levels.tile, levels.tried, levels.many, levels.choices
    left[0], tile[0], tried[0] = -(-extent // spread_below(loops, shares, 0)), extent, 0
    at = 0
    while at >= 0:
        if at == depth:
            if tile[at] == 1:
                if count < found.shape[0]:
                    put(found[count, :depth], tile[1:])
                count += 1
            at -= 1
            continue
        if tried[at] == 0 and factors >= ANY:
            whole = factors == ANY
            if is_temporal(loops[at]):
                many[at] = _any_tiles(choices[at], tile[at], loops, shares, at, whole)
            else:
                many[at] = _any_parts(choices[at], tile[at], loops, shares, at, whole)
        step = _next(loops, shares, factors, at, left[at], tile[at], tried, choices[at], many[at])
        if step[1] == 0:
            tried[at] = 0
            at -= 1
            continue
        left[at + 1], tile[at + 1] = step
        at += 1
        tried[at] = 0
    return count


@njit
def _next(
    loops: Any, shares: Any, factors: int, at: int, left: int, tile: int, tried: Any, choices: Any, many: int
) -> tuple[int, int]:
    """The rest and the tile below the next choice for a loop; (0, 0) when there is no other."""
    if factors >= ANY:
        tried[at] += 1
        if tried[at] <= many and loops[at] == MOVING and choices[tried[at] - 1] == tile:
            tried[at] += 1
        if tried[at] > many:
            return 0, 0
        return left, choices[tried[at] - 1]
    if not is_temporal(loops[at]):
        tried[at] += 1
        inner = min(tile, left * spread_below(loops, shares, at + 1))
        if tried[at] > 1 or -(-tile // inner) != shares[loops[at]]:
            return 0, 0
        return left, inner
    last = temporal_from(loops, at + 1) == 0
    trips = left if last and tried[at] == 0 else tried[at] + 1
    if loops[at] == MOVING and trips == 1:
        trips = 2
    while trips <= left and left % trips:
        trips += 1
    if trips > left or (last and trips != left):
        return 0, 0
    tried[at] = trips
    rest = left // trips
    return rest, min(tile, rest * spread_below(loops, shares, at + 1))


@njit
def _any_parts(choices: Any, tile: int, loops: Any, shares: Any, at: int, whole: bool) -> int:
    """Tiles below the loop of an axis that cut ``tile`` into as many parts as it is spread to.

    All that do where the tilings are ``whole``, the largest first: of larger parts the last one is smaller, and what
    cuts it further inside has fewer trips. Else the most equal parts.
    """
    share = int(shares[loops[at]])
    least = -(-tile // share)
    if -(-tile // least) != share:
        return 0
    most = least if share == 1 or not whole else -(-tile // (share - 1)) - 1
    if temporal_from(loops, at + 1) == 0:
        most = min(most, spread_below(loops, shares, at + 1))
    for i in range(most - least + 1):
        choices[i] = most - i
    return max(0, most - least + 1)


@njit
def _any_tiles(choices: Any, tile: int, loops: Any, shares: Any, at: int, whole: bool) -> int:
    """Tiles below a temporal loop that may have any: equal parts, and those rounded up to what the axes below take."""
    lanes = spread_below(loops, shares, at + 1)
    if temporal_from(loops, at + 1) == 0:
        most = min(tile, lanes)
        many = most if whole else 1
        for i in range(many):
            choices[i] = most - i
        return many
    if whole:
        for size in range(tile):
            choices[size] = tile - size
        return tile
    count = 0
    parts = 1
    while parts <= tile:
        size = -(-tile // parts)
        count = _insert(choices, count, size)
        rounded = -(-size // lanes) * lanes
        if rounded != size and rounded < tile:
            count = _insert(choices, count, rounded)
        if size == 1:
            break
        parts = max(parts + 1, -(-tile // (size - 1)))
    return count


@njit
def _insert(choices: Any, count: int, size: int) -> int:
    """Put a size in its place among choices, the largest first, unless it is there; how many there are then."""
    place = count
    while place > 0 and choices[place - 1] < size:
        place -= 1
    if place > 0 and choices[place - 1] == size:
        return count
    for i in range(count, place, -1):
        choices[i] = choices[i - 1]
    choices[place] = size
    return count + 1


@njit
def tile_sizes(tiles: Any, extent: int, part: Any, loops: int, sizes: Any, counts: Any) -> int:
    """Sizes of a dim's tiles below ``loops`` and how many of each, some collapsed; how many sizes there are.

    The first is that of the whole tile.
    """
    figure, collapsed = part[0], part[2]
    sizes[0], counts[0] = extent, 1
    many = 1
    if figure == ONE:
        sizes[0] = 1
        return 1
    for i in range(loops):
        tile = tiles[i]
        if figure == LARGEST or (collapsed >> i) & 1:
            for j in range(many):
                sizes[j] = min(sizes[j], tile)
            continue
        before = many
        for j in range(before):
            size, count = sizes[j], counts[j]
            if size > tile:
                whole = size // tile
                sizes[j], counts[j] = tile, whole * count
                if size - whole * tile:
                    sizes[many], counts[many] = size - whole * tile, count
                    many += 1
    return many


@njit
def footprint(first: int, second: int, far: int, near: int, spans: bool) -> int:
    """Values that tiles of two dims touch along a coordinate of these steps (near 0: of one dim)."""
    if near == 0:
        return (first - 1) * far + 1
    if spans:
        return (first - 1) * far + (second - 1) * near + 1
    common, rest = near, far
    while rest:
        common, rest = rest, common % rest
    # of the ways to reach a value the next has near/common more tiles of the first dim, far/common fewer of the second
    return first * second - max(0, first - near // common) * max(0, second - far // common)
