"""Tables: what each tiling of a group contributes to every column of a shape; only those that can be best. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.kernels import allocating
from mapper.looptree.search.branch.columns import COUNT, LARGEST, SUM
from mapper.looptree.search.branch.plan import MOST_LOOPS, PLAIN, RATIO
from mapper.looptree.search.branch.tilings import footprint, tile_sizes, tilings, trips_of

EXTRA = 2  # columns of a table beside its factors: the tilings of its two dims
FIT = 1 + 1e-9  # of a size in bits, which need not be whole
ALIKE = 1e-12  # relative difference of figures that are equal but for rounding


@allocating
def table(
    factors: Any, limits: Any, columns: int, loops: Any, extents: Any, shares: Any, kind: int, spans: bool
) -> Any:
    """(tilings, columns + EXTRA) of a shape under an option: its factors, then the tilings of its two dims."""
    first = tilings(loops[0], extents[0], shares[0], kind)
    second = tilings(loops[1], extents[1], shares[1], kind)
    kept1, kept2 = _roomy(factors, limits, columns, first, 1), _roomy(factors, limits, columns, second, 5)
    first, second = first[kept1], second[kept2]
    one, two = first.shape[0], second.shape[0]
    found = np.empty((one * two, columns + EXTRA))
    for c in range(columns):
        factor = factors[c]
        if factor[0] == RATIO:
            found[:, c] = found[:, factor[1]] / found[:, factor[2]]
        elif factor[0] == PLAIN:
            _fill_plain(found[:, c], factor, first, second, extents)
        else:
            _fill_window(found[:, c], factor, first, second, extents, spans)
    for i in range(one):
        for j in range(two):
            found[i * two + j, columns], found[i * two + j, columns + 1] = kept1[i], kept2[j]
    return _best(found[_fitting(found, factors, limits, columns)], columns)


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
def _fitting(found: Any, factors: Any, limits: Any, columns: int) -> Any:
    fits = np.ones(found.shape[0], np.bool_)
    for c in range(columns):
        if limits[c] < np.inf:
            fits &= found[:, c] <= limits[c] * FIT
    return np.flatnonzero(fits)


@allocating
def _fill_plain(column: Any, factor: Any, first: Any, second: Any, extents: Any) -> None:
    left = _figures(first, extents[0], factor[1:5])
    right = _figures(second, extents[1], factor[5:9])
    for i in range(left.size):
        column[i * right.size : (i + 1) * right.size] = left[i] * right


@allocating
def _figures(tiles: Any, extent: int, part: Any) -> Any:
    """A dim's part of a factor, for each of its tilings."""
    sizes, counts = np.empty(MOST_LOOPS + 1, np.int64), np.empty(MOST_LOOPS + 1, np.int64)
    found = np.empty(tiles.shape[0])
    for i in range(tiles.shape[0]):
        many = tile_sizes(tiles[i], extent, part, sizes, counts)
        total = 0
        for j in range(many):
            total += (1 if part[0] == COUNT else sizes[j]) * (counts[j] if part[0] in (COUNT, SUM) else 1)
        found[i] = total / trips_of(tiles[i], extent, part[3])
    return found


@allocating
def _fill_window(column: Any, factor: Any, first: Any, second: Any, extents: Any, spans: bool) -> None:
    size1, count1 = np.empty(MOST_LOOPS + 1, np.int64), np.empty(MOST_LOOPS + 1, np.int64)
    sizes = np.empty((second.shape[0], MOST_LOOPS + 1), np.int64)
    counts = np.empty((second.shape[0], MOST_LOOPS + 1), np.int64)
    many, over = np.empty(second.shape[0], np.int64), np.empty(second.shape[0], np.int64)
    for j in range(second.shape[0]):
        many[j] = tile_sizes(second[j], extents[1], factor[5:9], sizes[j], counts[j])
        over[j] = trips_of(second[j], extents[1], factor[8])
    row = 0
    for i in range(first.shape[0]):
        many1 = tile_sizes(first[i], extents[0], factor[1:5], size1, count1)
        over1 = trips_of(first[i], extents[0], factor[4])
        for j in range(second.shape[0]):
            total = 0
            for a in range(many1):
                for b in range(many[j]):
                    held = footprint(size1[a], sizes[j, b], factor[9], factor[10], spans)
                    total += held * count1[a] * counts[j, b]
            column[row] = total / (over1 * over[j])
            row += 1


@allocating
def _best(found: Any, columns: int) -> Any:
    """The rows that no other is at most equal to in every column, those of small figures first."""
    varied = np.empty((columns, found.shape[0]))
    many = 0
    for c in range(columns if found.shape[0] else 0):
        if found[:, c].max() > found[:, c].min() and not _seen(varied, many, found[:, c]):
            varied[many] = found[:, c]
            many += 1
    figures = np.ascontiguousarray(varied[:many].T)
    order = np.argsort(_sums(figures), kind="mergesort")
    kept = np.empty(found.shape[0], np.int64)
    count = 0
    for row in order:
        if not _is_beaten(figures, kept, count, row):
            kept[count] = row
            count += 1
    result = np.empty((count, found.shape[1]))
    for i in range(count):
        result[i] = found[kept[i]]
    return result


@allocating
def _sums(figures: Any) -> Any:
    """Of each row, in units of the least of each column."""
    sums = np.zeros(figures.shape[0])
    for c in range(figures.shape[1]):
        sums += figures[:, c] / figures[:, c].min()
    return sums


@allocating
def _seen(varied: Any, many: int, column: Any) -> bool:
    """Whether a column is one of those before it, but for a factor."""
    for c in range(many):
        scale = column[0] / varied[c, 0]
        alike = True
        for row in range(column.size):
            if abs(column[row] - scale * varied[c, row]) > ALIKE * column[row]:
                alike = False
                break
        if alike:
            return True
    return False


@allocating
def _is_beaten(figures: Any, kept: Any, count: int, row: int) -> bool:
    for i in range(count):
        other = kept[i]
        beaten = True
        for c in range(figures.shape[1]):
            if figures[other, c] > figures[row, c]:
                beaten = False
                break
        if beaten:
            return True
    return False


@allocating
def classes(found: Any, columns: int) -> Any:
    """The first column of a table to which each one is equal but for a factor; -1: it does not vary."""
    result = np.arange(columns)
    for c in range(columns):
        if found.shape[0] == 0 or found[:, c].max() <= found[:, c].min():
            result[c] = -1
            continue
        for other in range(c):
            if result[other] == other and _seen(found[:, other : other + 1].T, 1, found[:, c]):
                result[c] = other
                break
    return result
