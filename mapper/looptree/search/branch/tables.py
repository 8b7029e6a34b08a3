"""Tables: what each tiling of a group contributes to every column of a shape; only those that can be best. Compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import entry, inlined, njit
from archsim.base.words import WordTable
from mapper.looptree.search.branch.costing import COUNT, LARGEST, ONE, SUM
from mapper.looptree.search.branch.front import Front, best_rows, classify, front_of
from mapper.looptree.search.branch.keys import FIT
from mapper.looptree.search.branch.plan import MOST_LOOPS, PLAIN, RATIO, WINDOW
from mapper.looptree.search.branch.rows import put
from mapper.looptree.search.branch.tilings import footprint, tile_sizes

EXTRA = 2  # columns of a table beside its factors: the tilings of its two dims
_FIRST_TILINGS, _FIRST_ROWS = 64, 1024


class Tiles(NamedTuple):
    """Room for up to N tilings of a dim, written over. ``kept`` (N): those that fit; ``trips`` (N, MOST_LOOPS + 1) of
    each loop in the largest tile; ``parts`` (C, N): what the dim contributes to a column; ``many`` (N): of each tiling
    how many ``sizes`` its tiles have, and the ``counts`` of these (N, MOST_LOOPS + 1).
    """

    kept: Any
    trips: Any
    parts: Any
    many: Any
    sizes: Any
    counts: Any


class Bench(NamedTuple):
    """Room for a table. ``left`` and ``right``: its dims; ``rows`` (columns, R): of all tilings, and what sorts them in
    ``front``; ``best`` (columns, R): those that are kept, and of each column the ``alike`` (C) one.
    """

    left: Tiles
    right: Tiles
    rows: Any
    front: Front
    best: Any
    alike: Any


class TileTable(NamedTuple):
    """``figures`` (tilings, columns + EXTRA): factors for tilings of two dims, then which of each dim's; of each
    column the ``least`` and the first that is ``alike`` but for a factor, -1: it does not vary.
    """

    figures: Any
    alike: Any
    least: Any


def _tiles(columns: int, most: int) -> Tiles:
    kept, many = np.empty((2, most), np.int64)
    trips, sizes, counts = np.empty((3, most, MOST_LOOPS + 1), np.int64)
    return Tiles(kept, trips, np.empty((columns, most)), many, sizes, counts)


def _bench(columns: int, tilings: int, rows: int) -> Bench:
    shape = (columns + EXTRA, rows)
    left, right = _tiles(columns, tilings), _tiles(columns, tilings)
    return Bench(left, right, np.empty(shape), front_of(rows, columns), np.empty(shape), np.empty(columns, np.int64))


class Tabulator:
    """Makes tables of up to so many columns, in room that is kept from one to the next."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._room = WordTable(_bench(columns, _FIRST_TILINGS, _FIRST_ROWS))

    def table(self, arrays: WordTable, g: int, s: int, lists: Any, extents: Any, exact: bool) -> TileTable:
        """Of shape ``s`` of group ``g`` the table of some tilings of both dims, ``exact``: all tiles divide the tiles
        above them."""
        most, room, columns = max(map(len, lists)), self._room, int(arrays.value.sizes[g, s])
        if most > len(room.value.left.kept):
            room.write(_bench(self._columns, 2 * most, room.value.rows.shape[1]))
        count = fill_table(arrays, g, s, lists[0], lists[1], extents, exact, room)
        if count < 0:
            room.write(_bench(self._columns, len(room.value.left.kept), -2 * count))
            count = fill_table(arrays, g, s, lists[0], lists[1], extents, exact, room)
        found = np.ascontiguousarray(room.value.best[: columns + EXTRA, :count].T)
        least = found[:, :columns].min(axis=0) if count else np.zeros(columns)
        return TileTable(found, room.value.alike[:columns].copy(), least)


@entry
@njit
def fill_table(arrays: Any, g: int, s: int, first: Any, second: Any, extents: Any, exact: bool, bench: Any) -> int:
    """Fill ``bench.best`` and ``bench.alike``; how many rows are kept, or minus as many as there is no room for."""
    factors, limits, columns = arrays.factors[g, s], arrays.limits[g, s], arrays.sizes[g, s]
    left, right, found = bench.left, bench.right, bench.rows
    one, two = _roomy(factors, limits, columns, first, 1, left), _roomy(factors, limits, columns, second, 5, right)
    rows = one * two
    if rows > found.shape[1]:
        return -rows
    _fill_parts(factors, columns, 1, first, one, extents[0], exact, left)
    _fill_parts(factors, columns, 5, second, two, extents[1], exact, right)
    for c in range(columns):
        factor, column = factors[c], found[c]
        if factor[0] == RATIO:
            for row in range(rows):
                column[row] = found[factor[1], row] / found[factor[2], row]
        elif factor[0] == PLAIN:
            for i in range(one):
                for j in range(two):
                    column[i * two + j] = left.parts[c, i] * right.parts[c, j]
        else:
            _fill_window(column, factor, c, left, right, first, second, one, two, extents, exact, arrays.spans)
    for i in range(one):
        for j in range(two):
            found[columns, i * two + j], found[columns + 1, i * two + j] = left.kept[i], right.kept[j]
    width, front = columns + EXTRA, bench.front
    fitting = _fitting(found, limits, columns, width, rows, front.kept)
    count = best_rows(found, columns, width, fitting, front, bench.best)
    classify(bench.best, columns, count, front.varied[0], bench.alike)
    return count


@njit
def _roomy(factors: Any, limits: Any, columns: int, tiles: Any, part: int, found: Tiles) -> int:
    """Keep the tilings of a dim whose own tiles are within the limits; how many there are."""
    count = 0
    for i in range(tiles.shape[0]):
        fits = True
        for c in range(columns):
            if factors[c, part] == LARGEST and factors[c, part + 1] > 0 and limits[c] < np.inf:
                fits &= tiles[i, factors[c, part + 1] - 1] <= limits[c] * FIT
        if fits:
            found.kept[count] = i
            count += 1
    return count


@njit
def _fitting(found: Any, limits: Any, columns: int, width: int, rows: int, kept: Any) -> int:
    """Put the rows within the limits first; how many there are. ``kept`` (rows) is written over."""
    count = 0
    for row in range(rows):
        fits = True
        for c in range(columns):
            fits &= found[c, row] <= limits[c] * FIT
        if fits:
            kept[count] = row
            count += 1
    for c in range(width if count < rows else 0):
        for i in range(count):
            found[c, i] = found[c, kept[i]]
    return count


@njit
def _fill_parts(
    factors: Any, columns: int, start: int, tiles: Any, many: int, extent: int, exact: bool, found: Tiles
) -> None:
    """A dim's part of each factor, found at ``start`` of it; of a window the number of tiles."""
    trips, sizes, counts = found.trips, found.sizes[0], found.counts[0]
    _fill_trips(tiles, many, extent, found)
    for c in range(columns):
        if factors[c, 0] == RATIO:
            continue
        part, same = factors[c, start : start + 4], _first_like(factors, c, start)
        if same < c:
            put(found.parts[c, :many], found.parts[same])
            continue
        window = factors[c, 0] == WINDOW
        for i in range(many):
            own = tiles[found.kept[i]]
            if exact:
                total = _exact_figure(own, trips[i], extent, part, window)
            elif window:
                total = 1.0
            else:
                total = _figure(tile_sizes(own, extent, part, part[1], sizes, counts), part[0], sizes, counts)
            found.parts[c, i] = total / _chosen(trips[i], part[3])


@njit
def _first_like(factors: Any, c: int, start: int) -> int:
    """The first factor of the same kind with the same part."""
    for other in range(c):
        same = factors[other, 0] == factors[c, 0]
        for i in range(start, start + 4):
            same &= factors[other, i] == factors[c, i]
        if same:
            return other
    return c


@inlined
def _fill_trips(tiles: Any, many: int, extent: int, found: Tiles) -> None:
    """The trips of each loop in the largest tile."""
    for i in range(many):
        above = extent
        for loop in range(tiles.shape[1]):
            tile = tiles[found.kept[i], loop]
            found.trips[i, loop] = -(-above // tile)
            above = tile


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


@njit
def _fill_window(
    column: Any,
    factor: Any,
    c: int,
    left: Tiles,
    right: Tiles,
    first: Any,
    second: Any,
    one: int,
    two: int,
    extents: Any,
    exact: bool,
    spans: bool,
) -> None:
    """A column of windows: what the tiles of two dims touch, summed over all tiles."""
    _fill_sizes(factor[1:5], first, one, extents[0], exact, left)
    _fill_sizes(factor[5:9], second, two, extents[1], exact, right)
    for i in range(one):
        for j in range(two):
            total = 0
            for a in range(left.many[i]):
                for b in range(right.many[j]):
                    held = footprint(left.sizes[i, a], right.sizes[j, b], factor[9], factor[10], spans)
                    total += held * left.counts[i, a] * right.counts[j, b]
            column[i * two + j] = total * left.parts[c, i] * right.parts[c, j]


@njit
def _fill_sizes(part: Any, tiles: Any, many: int, extent: int, exact: bool, found: Tiles) -> None:
    """The sizes of each tiling's tiles and how many there are of each; where all are alike (``exact``) one of them."""
    for i in range(many):
        own, sizes, counts = tiles[found.kept[i]], found.sizes[i], found.counts[i]
        if exact:
            found.many[i], sizes[0], counts[0] = 1, _size(own, extent, part), 1
        else:
            found.many[i] = tile_sizes(own, extent, part, part[1], sizes, counts)
