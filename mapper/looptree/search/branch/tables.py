"""Tables: what each tiling of a group contributes to every column of a shape; only those that can be best. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.kernels import allocating, inlined
from mapper.looptree.search.branch.costing import COUNT, LARGEST, ONE, SUM
from mapper.looptree.search.branch.keys import FIT
from mapper.looptree.search.branch.plan import MOST_LOOPS, PLAIN, RATIO, WINDOW
from mapper.looptree.search.branch.tilings import footprint, tile_sizes

EXTRA = 2  # columns of a table beside its factors: the tilings of its two dims
RUN = 16  # rows of which the least figures are known
ALIKE = 1e-12  # relative difference of figures that are equal but for rounding


@allocating
def table(
    factors: Any, limits: Any, columns: int, first: Any, second: Any, extents: Any, exact: bool, spans: bool
) -> Any:
    """(tilings, columns + EXTRA): factors for the tilings of two dims, then which of ``first`` and ``second`` these are.

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
            found[c] = found[factor[1]] / found[factor[2]]
        elif factor[0] == PLAIN:
            for i in range(one):
                found[c, i * two : (i + 1) * two] = left[c, i] * right[c]
        elif exact:
            _fill_exact_window(found[c], factor, left[c], right[c], first, second, extents, spans)
        else:
            _fill_window(found[c], factor, left[c], right[c], first, second, extents, spans)
    for i in range(one):
        for j in range(two):
            found[columns, i * two + j], found[columns + 1, i * two + j] = kept1[i], kept2[j]
    return _best(found[:, _fitting(found, limits, columns)], columns)


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
    fits = np.ones(found.shape[1], np.bool_)
    for c in range(columns):
        if limits[c] < np.inf:
            fits &= found[c] <= limits[c] * FIT
    return np.flatnonzero(fits)


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
            found[c] = found[same]
            continue
        window = factors[c, 0] == WINDOW
        for i in range(tiles.shape[0]):
            if exact:
                total = _exact_figure(tiles[i], trips[i], extent, part, window)
            elif window:
                total = 1.0
            else:
                total = _figure(tile_sizes(tiles[i], extent, part, sizes, counts), part[0], sizes, counts)
            found[c, i] = total / _chosen(trips[i], part[3])
    return found


@allocating
def _first_like(factors: Any, c: int, start: int) -> int:
    """The first factor of the same kind with the same part."""
    for other in range(c):
        if factors[other, 0] == factors[c, 0] and (factors[other, start : start + 4] == factors[c, start : start + 4]).all():
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
        many[j] = tile_sizes(second[j], extents[1], factor[5:9], sizes[j], counts[j])
    row = 0
    for i in range(first.shape[0]):
        many1 = tile_sizes(first[i], extents[0], factor[1:5], size1, count1)
        for j in range(second.shape[0]):
            total = 0
            for a in range(many1):
                for b in range(many[j]):
                    held = footprint(size1[a], sizes[j, b], factor[9], factor[10], spans)
                    total += held * count1[a] * counts[j, b]
            column[row] = total * left[i] * right[j]
            row += 1


@allocating
def _best(found: Any, columns: int) -> Any:
    """Of (columns, rows) the rows that no other is at most equal to in every column, in an order to be halved."""
    rows = found.shape[1]
    varied = np.empty(columns, np.int64)
    many = 0
    for c in range(columns if rows else 0):
        if found[c].max() > found[c].min() and _like(found, varied, many, found[c]) < 0:
            varied[many] = c
            many += 1
    sums = np.zeros(rows)
    for c in varied[:many]:
        sums += found[c] / found[c].min()
    order = np.argsort(sums, kind="mergesort")
    figures = np.empty((rows, many))
    for c in range(many):
        figures[:, c] = found[varied[c]][order]
    front = _front(figures)
    kept = order[front[_halved(figures[front])]]
    result = np.empty((kept.size, found.shape[0]))
    for c in range(found.shape[0]):
        for i in range(kept.size):
            result[i, c] = found[c, kept[i]]
    return result


@allocating
def _front(figures: Any) -> Any:
    """The rows that none before them is at most equal to in every column; ``least``: of each run of those kept."""
    rows, columns = figures.shape
    kept = np.empty(rows, np.int64)
    front, least = np.empty((rows, columns)), np.full((rows // RUN + 1, columns), np.inf)
    count = 0
    for row in range(rows):
        if _is_beaten(front, least, count, figures[row]):
            continue
        kept[count], front[count] = row, figures[row]
        for c in range(columns):
            least[count // RUN, c] = min(least[count // RUN, c], figures[row, c])
        count += 1
    return kept[:count]


@allocating
def _halved(figures: Any) -> Any:
    """An order of rows: the first half has the smaller figures of the column that differs most; so again each half."""
    order = np.arange(figures.shape[0])
    starts, ends = np.zeros(64, np.int64), np.zeros(64, np.int64)
    ends[0] = figures.shape[0]
    top = 0
    while top >= 0:
        start, end = starts[top], ends[top]
        top -= 1
        if end - start < 3:
            continue
        own = order[start:end].copy()
        widest, most = 0, 1.0
        for c in range(figures.shape[1]):
            low = high = figures[own[0], c]
            for row in own:
                low, high = min(low, figures[row, c]), max(high, figures[row, c])
            if high > most * low:
                widest, most = c, high / low
        order[start:end] = own[np.argsort(figures[own, widest], kind="mergesort")]
        middle = start + (end - start) // 2
        starts[top + 1], ends[top + 1], starts[top + 2], ends[top + 2] = start, middle, middle, end
        top += 2
    return order


@allocating
def _is_beaten(front: Any, least: Any, count: int, row: Any) -> bool:
    for run in range(-(-count // RUN)):
        if not _at_most(least[run], row):
            continue
        for i in range(run * RUN, min(count, (run + 1) * RUN)):
            if _at_most(front[i], row):
                return True
    return False


@inlined
def _at_most(first: Any, second: Any) -> bool:
    """Whether figures are at most equal to others."""
    at_most = True
    for c in range(first.size):
        if first[c] > second[c]:
            at_most = False
            break
    return at_most


@allocating
def _like(found: Any, among: Any, many: int, column: Any) -> int:
    """Which of the first ``many`` columns ``among`` those found a column is, but for a factor; -1 for none."""
    for i in range(many):
        other = found[among[i]]
        scale = column[0] / other[0]
        alike = True
        for row in range(column.size):
            if abs(column[row] - scale * other[row]) > ALIKE * column[row]:
                alike = False
                break
        if alike:
            return i
    return -1


@allocating
def classes(found: Any, columns: int) -> Any:
    """The first column of a table to which each one is equal but for a factor; -1: it does not vary."""
    turned = np.ascontiguousarray(found.T)
    result, firsts = np.empty(columns, np.int64), np.empty(columns, np.int64)
    many = 0
    for c in range(columns):
        if found.shape[0] == 0 or turned[c].max() <= turned[c].min():
            result[c] = -1
            continue
        same = _like(turned, firsts, many, turned[c])
        result[c] = firsts[same] if same >= 0 else c
        if same < 0:
            firsts[many] = c
            many += 1
    return result
