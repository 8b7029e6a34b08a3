"""The least that the tilings of a group can contribute to a column, from the ranges of their tiles. Compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import inlined, njit
from mapper.looptree.search.branch.costing import COUNT, LARGEST, ONE, SUM
from mapper.looptree.search.branch.plan import MOST_DIMS, MOST_LOOPS, PLAIN, RATIO, WINDOW
from mapper.looptree.search.branch.ranges import known_loops
from mapper.looptree.search.branch.tilings import DIVISORS, count_loops, footprint, is_temporal, tile_sizes


class Parts(NamedTuple):
    """What each dim of a group contributes to C columns. ``same`` (2, C): the first column with the same part of a dim;
    ``low``, ``most`` (2, C): bounds of the parts, of ``most`` where ``subtracted`` (C); ``work``: sizes and counts.
    """

    same: Any
    subtracted: Any
    low: Any
    most: Any
    work: Any


def parts_of(columns: int) -> Parts:
    """Room for the parts of up to so many columns."""
    shape = (MOST_DIMS, columns)
    same, subtracted = np.empty(shape, np.int64), np.empty(columns, np.bool_)
    return Parts(same, subtracted, np.empty(shape), np.empty(shape), np.empty((2, MOST_LOOPS + 1), np.int64))


@njit
def set_parts(parts: Parts, factors: Any, columns: int) -> None:
    """Make them the parts of columns, of which the bounds are to be filled."""
    for c in range(columns):
        parts.subtracted[c] = False
    for c in range(columns):
        for d in range(MOST_DIMS):
            parts.same[d, c], parts.most[d, c] = c, 1.0
        if factors[c, 0] == RATIO:
            parts.subtracted[factors[c, 2]] = True
            continue
        for d in range(MOST_DIMS):
            for other in range(c - 1, -1, -1):
                if factors[other, 0] == factors[c, 0] and _alike(factors[other], factors[c], 1 + 4 * d):
                    parts.same[d, c] = other


@inlined
def _alike(first: Any, second: Any, start: int) -> bool:
    alike = True
    for i in range(start, start + 4):
        alike &= first[i] == second[i]
    return alike


@njit
def fill_parts(
    parts: Parts, factors: Any, columns: int, d: int, loops: Any, extent: int, shares: Any, kind: int, tiles: Any
) -> None:
    """Bound the parts of dim ``d`` over its tilings within ``tiles`` (least and most, loops)."""
    known = known_loops(loops, tiles)
    whole = known == count_loops(loops)
    for c in range(columns):
        if factors[c, 0] == RATIO:
            continue
        part, same = factors[c, 1 + 4 * d : 5 + 4 * d], parts.same[d, c]
        if same < c:
            parts.low[d, c] = parts.low[d, same]
        else:
            window = factors[c, 0] == WINDOW
            parts.low[d, c] = _part(part, loops, extent, shares, kind, window, tiles, known, parts.work)
        if parts.subtracted[c]:
            parts.most[d, c] = parts.low[d, c] if whole else _most(part, loops, extent, shares, kind)


@njit
def combine(parts: Parts, factors: Any, columns: int, loops: Any, shares: Any, spans: bool, found: Any) -> None:
    """Fill ``found`` (columns) with lower bounds; they are exact where all tiles are known, but for windows."""
    for c in range(columns):
        factor, low0, low1 = factors[c], parts.low[0, c], parts.low[1, c]
        if factor[0] == RATIO:
            upper, lower = factor[1], factor[2]
            over = _chosen(loops[0], shares[0], factors[lower, 4]) * _chosen(loops[1], shares[1], factors[lower, 8])
            most = parts.most[0, lower] * parts.most[1, lower] / over
            found[c] = max(1.0, found[upper] / most) if factors[lower, 0] == PLAIN else 1.0
            continue
        found[c] = low0 * low1 if factor[0] == PLAIN else _window(int(low0), int(low1), factor, spans)
        if factor[4] or factor[8]:
            found[c] /= _chosen(loops[0], shares[0], factor[4]) * _chosen(loops[1], shares[1], factor[8])


@inlined
def _chosen(loops: Any, shares: Any, chosen: int) -> int:
    """Product of the trips of the axes among chosen loops."""
    product, i = 1, 0
    while chosen >> i:
        if (chosen >> i) & 1 and not is_temporal(loops[i]):
            product *= shares[loops[i]]
        i += 1
    return product


@njit
def _part(
    part: Any, loops: Any, extent: int, shares: Any, kind: int, window: bool, tiles: Any, known: int, work: Any
) -> int:
    figure, first, collapsed = part[0], part[1], part[2]
    if figure == ONE:
        return 1
    if figure == LARGEST:
        return tiles[0, first - 1] if first else extent
    if window:
        return -(-extent // _chosen(loops, shares, collapsed))
    if figure == SUM and collapsed == 0:
        return extent
    known = min(known, first)
    many = tile_sizes(tiles[0], extent, part, known, work[0], work[1])
    once, repeats = 1, False
    for i in range(known, first):
        if (collapsed >> i) & 1:
            repeats |= is_temporal(loops[i])
            once *= 1 if is_temporal(loops[i]) else shares[loops[i]]
    total = 0
    for j in range(many):
        size = 1 if repeats else -(-work[0, j] // once)
        if figure == COUNT:
            size = 1 if known == first else -(-size // tiles[1, first - 1])
            if j == 0:
                size = max(size, _apart(loops, extent, shares, known, first, collapsed, kind, tiles))
        total += size * work[1, j]
    return total


@inlined
def _apart(loops: Any, extent: int, shares: Any, start: int, end: int, collapsed: int, kind: int, tiles: Any) -> int:
    """Fewest iterations of loops from ``start`` on in a whole tile; of imperfect tiles the last is cut no further."""
    least = 1
    for i in range(end - 1, start - 1, -1):
        if (collapsed >> i) & 1:
            continue
        if is_temporal(loops[i]):
            above = tiles[0, i - 1] if i else extent
            least = (-(-above // tiles[1, i]) - 1) * least + 1
        else:
            share = shares[loops[i]]
            least = least * share if kind == DIVISORS else (share - 1) * least + 1
    return least


@njit
def _most(part: Any, loops: Any, extent: int, shares: Any, kind: int) -> int:
    """The most of a part that is subtracted, in which no temporal loop repeats anything."""
    figure, first, collapsed = part[0], part[1], part[2]
    most = 1
    if figure == COUNT:
        every = (1 << first) - 1
        most = _chosen(loops, shares, every & ~collapsed)
    elif figure != ONE:
        most = extent // _chosen(loops, shares, collapsed) if kind == DIVISORS else extent
    return most


@njit
def _window(low1: int, low2: int, factor: Any, spans: bool) -> float:
    """Of a sum over tiles, which is linear in the number of tiles of each dim: the least of the extreme numbers."""
    far, near = factor[9], factor[10]
    whole = footprint(low1, low2, far, near, spans)
    if LARGEST in (factor[1], factor[5]):
        return whole
    apart = min(low1 * footprint(1, low2, far, near, spans), low2 * footprint(low1, 1, far, near, spans))
    return min(whole, apart, low1 * low2)
