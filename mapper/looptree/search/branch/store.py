"""The tables that a search has made, side by side in one array that compiled code reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from archsim.base.words import WordTable
from mapper.looptree.search.branch.plan import MOST_DIMS, Arrays
from mapper.looptree.search.branch.tables import EXTRA, Tabulator, TileTable
from mapper.looptree.search.branch.tilings import DIVISORS, Tiler

FIRST_ROOM = 1 << 16  # figures


class Shelf(NamedTuple):
    """``where`` (G, S, O): the number of a table, -1 where it has not been made; ``place`` (tables, 3): its first
    figure in ``figures``, its rows and its columns, ``EXTRA`` included; ``alike`` (tables, C): classes of its columns,
    ``least`` their least figures.
    """

    where: Any
    place: Any
    figures: Any
    alike: Any
    least: Any


Tables = dict[tuple[object, ...], TileTable]  # what a table is made of -> the table: searches of one space share them


class Store:
    """Makes tables when they are asked for, and keeps them; takes those that ``known`` has.

    ``shelves``: the Shelf as entries find it; ``widest``: the most rows that a table has.
    """

    def __init__(self, arrays: WordTable, options: int, known: Tables) -> None:
        self.arrays: Arrays = arrays.value
        self._arrays, self.known = arrays, known
        groups, shapes, most = self.arrays.factors.shape[:3]
        self.used = self.widest = 0
        self._tabulator, self._tiler = Tabulator(most), Tiler()
        self._lists: list[list[Any]] = []  # by table, of each dim
        self._tilings: dict[tuple[bytes, int, bytes, int], Any] = {}
        where = np.full((groups, shapes, options), -1, np.int64)
        rows = np.zeros((64, most), np.int64), np.zeros((64, most))
        self.shelves = WordTable(Shelf(where, np.zeros((64, 3), np.int64), np.empty(FIRST_ROOM), *rows))

    @property
    def shelf(self) -> Shelf:
        """What ``shelves`` has now: it grows."""
        found: Shelf = self.shelves.value
        return found

    def make(self, g: int, s: int, o: int, extents: Any, shares: Any, kinds: Sequence[int]) -> None:
        """Tabulate shape ``s`` of group ``g`` under option ``o``: all tilings of these ``kinds`` of its dims."""
        arrays, columns = self.arrays, int(self.arrays.sizes[g, s])
        lists = [self.tilings(g, s, d, extents, shares, kinds[d]) for d in range(MOST_DIMS)]
        parts = (arrays.loops[g, s], extents, shares, arrays.factors[g, s, :columns], arrays.limits[g, s, :columns])
        key = (columns, tuple(kinds), arrays.spans, *(part.tobytes() for part in parts))
        if key not in self.known:
            self.known[key] = self._table(g, s, extents, lists, exact=kinds[0] == DIVISORS)
        self.shelf.where[g, s, o] = self._put(self.known[key], columns, lists)

    def add(self, g: int, s: int, extents: Any, lists: list[Any], exact: bool) -> int:
        """The number of a new table of some tilings of each dim."""
        return self._put(self._table(g, s, extents, lists, exact), int(self.arrays.sizes[g, s]), lists)

    def _table(self, g: int, s: int, extents: Any, lists: list[Any], exact: bool) -> TileTable:
        return self._tabulator.table(self._arrays, g, s, lists, extents, exact)

    def _put(self, found: TileTable, columns: int, lists: list[Any]) -> int:
        number, used, size = self.made, self.used, found.figures.size
        self._grow(size)
        self.shelf.place[number] = used, len(found.figures), columns + EXTRA
        self.shelf.figures[used : used + size] = found.figures.ravel()
        self.shelf.alike[number, :columns] = found.alike
        self.shelf.least[number, :columns] = found.least
        self.used += size
        self.widest = max(self.widest, len(found.figures))
        self._lists.append(lists)
        return number

    @property
    def made(self) -> int:
        """How many tables there are."""
        return len(self._lists)

    def forget(self, number: int) -> None:
        """Drop the tables from a number on."""
        if number < self.made:
            self.used = int(self.shelf.place[number, 0])
            del self._lists[number:]

    def row(self, number: int, row: int) -> Any:
        """The tiling of each dim in a row of a table."""
        start, _, columns = self.shelf.place[number].tolist()
        figures = self.shelf.figures[start + row * columns : start + (row + 1) * columns]
        return [known[int(at)] for known, at in zip(self._lists[number], figures[-EXTRA:], strict=True)]

    def tilings(self, g: int, s: int, d: int, extents: Any, shares: Any, kind: int) -> Any:
        """(tilings, loops) tiles of dim ``d`` of a group."""
        loops = self.arrays.loops[g, s, d]
        key = loops.tobytes(), int(extents[d]), shares[d].tobytes(), kind
        if key not in self._tilings:
            self._tilings[key] = self._tiler.tilings(loops, int(extents[d]), shares[d], kind)
        return self._tilings[key]

    def _grow(self, figures: int) -> None:
        shelf = self.shelf
        if self.made == shelf.place.shape[0]:
            grown = {name: _doubled(getattr(shelf, name)) for name in ("place", "alike", "least")}
            shelf = shelf._replace(**grown)
        while self.used + figures > shelf.figures.size:
            shelf = shelf._replace(figures=_doubled(shelf.figures))
        if shelf is not self.shelf:
            self.shelves.write(shelf)


def _doubled(array: Any) -> Any:
    return np.concatenate((array, np.zeros_like(array)))
