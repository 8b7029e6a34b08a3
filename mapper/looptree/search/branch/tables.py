"""Tables: what each tiling of a group contributes to every column of a shape; only those that can be best. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.jit import allocating, entry, inlined
from mapper.looptree.search.branch.costing import COUNT, LARGEST, ONE, SUM
from mapper.looptree.search.branch.front import best_rows
from mapper.looptree.search.branch.keys import FIT
from mapper.looptree.search.branch.plan import MOST_LOOPS, PLAIN, RATIO, WINDOW
from mapper.looptree.search.branch.rows import put
from mapper.looptree.search.branch.tilings import footprint, tile_sizes

EXTRA = 2  # columns of a table beside its factors: the tilings of its two dims


@entry
@allocating
def table(
    factors: Any, limits: Any, columns: int, first: Any, second: Any, extents: Any, exact: bool, spans: bool
) -> Any:
    """(tilings, columns + EXTRA): factors for tilings of two dims, then which of ``first`` and of ``second``.

    ``exact``: all tiles divide the tiles above them.
    """
    kept1, kept2 = _roomy(factors, limits, columns, first, 1), _roomy(factors, limits, columns, second, 5)
    first, second = first[kept1], second[kept2]
    left = _parts(factors, columns, 1, first, extents[0], exact)
    right = _parts(factors, columns, 5, second, extents[1], exact)
    one, two = first.shape[0], second.shape[0]
    found = np.empty((columns + EXTRA, one * two))
    for c in range(columns):
        factor = factors[c]
        if factor[0] == RATIO:
            for row in range(found.shape[1]):
                found[c, row] = found[factor[1], row] / found[factor[2], row]
        elif factor[0] == PLAIN:
            for i in range(one):
                for j in range(two):
                    found[c, i * two + j] = left[c, i] * right[c, j]
        elif exact:
            _fill_exact_window(found[c], factor, left[c], right[c], first, second, extents, spans)
        else:
            _fill_window(found[c], factor, left[c], right[c], first, second, extents, spans)
    for i in range(one):
        for j in range(two):
            found[columns, i * two + j], found[columns + 1, i * two + j] = kept1[i], kept2[j]
    return best_rows(_fitting(found, limits, columns), columns)


@allocating
def _roomy(factors: Any, limits: Any, columns: int, tiles: Any, part: int) -> Any:
    """Tilings of a dim whose own tiles are within the limits."""
    fits = np.ones(tiles.shape[0], np.bool_)
    for c in range(columns):
        if factors[c, part] != LARGEST or factors[c, part + 1] == 0 or limits[c] == np.inf:
            continue
        for i in range(tiles.shape[0]):
            fits[i] &= tiles[i, factors[c, part + 1] - 1] <= limits[c] * FIT
    return np.flatnonzero(fits)


@allocating
def _fitting(found: Any, limits: Any, columns: int) -> Any:
    """The rows within the limits."""
    fits = np.ones(found.shape[1], np.bool_)
    for c in range(columns):
        if limits[c] < np.inf:
            for row in range(fits.size):
                fits[row] &= found[c, row] <= limits[c] * FIT
    if fits.all():
        return found
    rows = np.flatnonzero(fits)
    kept = np.empty((found.shape[0], rows.size))
    for c in range(found.shape[0]):
        for i in range(rows.size):
            kept[c, i] = found[c, rows[i]]
    return kept


@allocating
def _parts(factors: Any, columns: int, start: int, tiles: Any, extent: int, exact: bool) -> Any:
    """(columns, tilings) a dim's part of each factor, found at ``start`` of it; of a window the number of tiles."""
    found = np.empty((columns, tiles.shape[0]))
    trips = _trips(tiles, extent)
    sizes, counts = np.empty(MOST_LOOPS + 1, np.int64), np.empty(MOST_LOOPS + 1, np.int64)
    for c in range(columns):
        if factors[c, 0] == RATIO:
            continue
        part, same = factors[c, start : start + 4], _first_like(factors, c, start)
        if same < c:
            put(found[c], found[same])
            continue
        window = factors[c, 0] == WINDOW
        for i in range(tiles.shape[0]):
            if exact:
                total = _exact_figure(tiles[i], trips[i], extent, part, window)
            elif window:
                total = 1.0
            else:
                total = _figure(tile_sizes(tiles[i], extent, part, part[1], sizes, counts), part[0], sizes, counts)
            found[c, i] = total / _chosen(trips[i], part[3])
    return found


@allocating
def _first_like(factors: Any, c: int, start: int) -> int:
    """The first factor of the same kind with the same part."""
    for other in range(c):
        same = factors[other, 0] == factors[c, 0]
        for i in range(start, start + 4):
            same &= factors[other, i] == factors[c, i]
        if same:
            return other
    return c


@allocating
def _trips(tiles: Any, extent: int) -> Any:
    """(tilings, loops) trips of each loop in the largest tile."""
    found = np.empty(tiles.shape, np.int64)
    for i in range(tiles.shape[0]):
        above = extent
        for loop in range(tiles.shape[1]):
            found[i, loop] = -(-above // tiles[i, loop])
            above = tiles[i, loop]
    return found


@inlined
def _chosen(trips: Any, chosen: int) -> float:
    """Product of the trips of chosen loops."""
    product, i = 1.0, 0
    while chosen >> i:
        if (chosen >> i) & 1:
            product *= trips[i]
        i += 1
    return product


@inlined
def _size(tiles: Any, extent: int, part: Any) -> int:
    """The tile below the loops of a part."""
    size = 1
    if part[0] != ONE:
        size = tiles[part[1] - 1] if part[1] else extent
    return size


@inlined
def _exact_figure(tiles: Any, trips: Any, extent: int, part: Any, window: bool) -> float:
    """A part where all tiles are alike; of a window their number."""
    number = 1.0
    if part[0] == COUNT or part[0] == SUM:
        number = _chosen(trips, ((1 << part[1]) - 1) & ~part[2])
    if not window and part[0] != COUNT:
        number *= _size(tiles, extent, part)
    return number


@inlined
def _figure(many: int, figure: int, sizes: Any, counts: Any) -> float:
    """A part of which there are ``many`` sizes."""
    total = 0
    for j in range(many):
        total += (1 if figure == COUNT else sizes[j]) * (counts[j] if figure in (COUNT, SUM) else 1)
    return float(total)


@allocating
def _fill_exact_window(
    column: Any, factor: Any, left: Any, right: Any, first: Any, second: Any, extents: Any, spans: bool
) -> None:
    row = 0
    for i in range(first.shape[0]):
        size = _size(first[i], extents[0], factor[1:5])
        for j in range(second.shape[0]):
            held = footprint(size, _size(second[j], extents[1], factor[5:9]), factor[9], factor[10], spans)
            column[row] = held * left[i] * right[j]
            row += 1


@allocating
def _fill_window(
    column: Any, factor: Any, left: Any, right: Any, first: Any, second: Any, extents: Any, spans: bool
) -> None:
    size1, count1 = np.empty(MOST_LOOPS + 1, np.int64), np.empty(MOST_LOOPS + 1, np.int64)
    sizes = np.empty((second.shape[0], MOST_LOOPS + 1), np.int64)
    counts = np.empty((second.shape[0], MOST_LOOPS + 1), np.int64)
    many = np.empty(second.shape[0], np.int64)
    for j in range(second.shape[0]):
        many[j] = tile_sizes(second[j], extents[1], factor[5:9], factor[6], sizes[j], counts[j])
    row = 0
    for i in range(first.shape[0]):
        many1 = tile_sizes(first[i], extents[0], factor[1:5], factor[2], size1, count1)
        for j in range(second.shape[0]):
            total = 0
            for a in range(many1):
                for b in range(many[j]):
                    held = footprint(size1[a], sizes[j, b], factor[9], factor[10], spans)
                    total += held * count1[a] * counts[j, b]
            column[row] = total * left[i] * right[j]
            row += 1
