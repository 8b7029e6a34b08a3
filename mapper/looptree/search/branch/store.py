"""The tables that a search has made, side by side in one array that compiled code reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.kernels import allocating
from mapper.looptree.search.branch.front import classes
from mapper.looptree.search.branch.plan import MOST_DIMS, Arrays
from mapper.looptree.search.branch.tables import EXTRA, table
from mapper.looptree.search.branch.tilings import DIVISORS, tilings

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


Tables = dict[tuple[object, ...], Any]  # what a table is made of -> the table: searches of one space share them


class Store:
    """Makes tables when they are asked for, and keeps them; takes those that ``known`` has."""

    def __init__(self, arrays: Arrays, options: int, known: Tables) -> None:
        groups, shapes, most = arrays.factors.shape[:3]
        self.arrays, self.known = arrays, known
        self.made, self.used = 0, 0
        self._tilings: dict[tuple[bytes, int, bytes], Any] = {}
        where = np.full((groups, shapes, options), -1, np.int64)
        self.shelf = Shelf(
            where,
            np.zeros((64, 3), np.int64),
            np.empty(FIRST_ROOM),
            np.zeros((64, most), np.int64),
            np.zeros((64, most)),
        )

    def make(self, g: int, s: int, o: int, extents: Any, shares: Any, kind: int) -> None:
        """Tabulate shape ``s`` of group ``g`` under option ``o``."""
        columns = int(self.arrays.sizes[g, s])
        found = self._table(g, s, columns, extents, shares, kind)
        self._grow(found.size)
        self.shelf.where[g, s, o] = self.made
        self.shelf.place[self.made] = self.used, found.shape[0], columns + EXTRA
        self.shelf.figures[self.used : self.used + found.size] = found.ravel()
        self.shelf.alike[self.made, :columns] = classes(found, columns)
        if len(found):
            self.shelf.least[self.made, :columns] = found[:, :columns].min(axis=0)
        self.made += 1
        self.used += found.size

    def _table(self, g: int, s: int, columns: int, extents: Any, shares: Any, kind: int) -> Any:
        arrays = self.arrays
        loops, factors, limits = arrays.loops[g, s], arrays.factors[g, s], arrays.limits[g, s]
        parts = (loops, extents, shares, factors[:columns], limits[:columns])
        key = (columns, kind, arrays.spans, *(part.tobytes() for part in parts))
        if key not in self.known:
            first, second = (self.tilings(loops[d], extents[d], shares[d], kind) for d in range(MOST_DIMS))
            self.known[key] = table(factors, limits, columns, first, second, extents, kind == DIVISORS, arrays.spans)
        return self.known[key]

    def tilings(self, loops: Any, extent: int, shares: Any, kind: int) -> Any:
        """(tilings, loops) tiles of a dim."""
        key = loops.tobytes(), int(extent), shares.tobytes()
        if key not in self._tilings:
            self._tilings[key] = tilings(loops, extent, shares, kind)
        return self._tilings[key]

    def _grow(self, figures: int) -> None:
        shelf = self.shelf
        if self.made == shelf.place.shape[0]:
            grown = {name: _doubled(getattr(shelf, name)) for name in ("place", "alike", "least")}
            self.shelf = shelf = shelf._replace(**grown)
        while self.used + figures > shelf.figures.size:
            self.shelf = shelf = shelf._replace(figures=_doubled(shelf.figures))


def _doubled(array: Any) -> Any:
    return np.concatenate((array, np.zeros_like(array)))


@allocating
def read(place: Any, figures: Any, number: int) -> Any:
    """(tilings, columns) of a table."""
    start, rows, columns = place[number]
    return figures[start : start + rows * columns].reshape(rows, columns)
