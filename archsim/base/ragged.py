"""Rows that have any number of items each, as columns: item numbers of some rows, and rows that are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import AnyArray, BoolArray, IntArray

_Item = TypeVar("_Item")
_ODD, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
MarkArray = NDArray[np.uint64]


class Picked(Sequence[_Item]):
    """Items by number, of which some ``rows`` are picked; ``item`` makes one when it is asked for."""

    def __init__(self, item: Callable[[int], _Item], rows: IntArray) -> None:
        self._item, self.rows = item, rows

    def pick(self, rows: IntArray) -> Picked[_Item]:
        """Those of these rows."""
        return Picked(self._item, self.rows[rows])

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> Picked[_Item]: ...
    def __getitem__(self, index: int | slice) -> _Item | Picked[_Item]:
        return self.pick(self.rows[index]) if isinstance(index, slice) else self._item(int(self.rows[index]))

    def __iter__(self) -> Iterator[_Item]:
        return map(self._item, self.rows.tolist())


class Items(NamedTuple):
    """Items of rows: those of row r are ``first[r]`` to ``first[r + 1]``, each a number in every one of ``columns``."""

    first: IntArray
    columns: Sequence[IntArray]


def firsts(sizes: IntArray) -> IntArray:
    """Where the items of each row begin, and the end of the last one's."""
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def stretches(begin: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
    """``sizes[r]`` numbers from ``begin[r]`` on, one row's after those of another; and the row of each."""
    row = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(row)) + (begin - (np.cumsum(sizes) - sizes))[row], row


def any_of(rows: IntArray, marked: BoolArray, count: int) -> BoolArray:
    """Which of ``count`` rows have an item that is ``marked``; ``rows``: of each item."""
    found = np.zeros(count, dtype=np.bool_)
    found[rows[marked]] = True
    return found


def alike(columns: Sequence[IntArray], items: Sequence[Items] = ()) -> tuple[IntArray, IntArray]:
    """The first of each class of equal rows, ascending, and the class of each row.

    Rows are equal if they are in all ``columns`` and have equal ``items``. Classes are told apart by a mark of 64 bits
    and then compared; a row whose mark meets that of another one is a class of its own.
    """
    count = len(columns[0])
    with np.errstate(over="ignore"):
        mark = np.zeros(count, dtype=np.uint64)
        for column in columns:
            mark = _mixed(mark, column)
        for first, of in items:
            sizes = np.diff(first)
            inside = np.arange(int(first[-1])) - np.repeat(first[:-1], sizes)
            each = _mixed(np.zeros(len(inside), dtype=np.uint64), inside)
            for column in of:
                each = _mixed(each, column)
            sums = np.append(np.uint64(0), np.cumsum(each, dtype=np.uint64))
            mark = _mixed(mark, sums[first[1:]] - sums[first[:-1]])
    _, chosen, number = np.unique(mark, return_index=True, return_inverse=True)
    unlike = _unlike(columns, items, chosen[number])
    lonely = np.flatnonzero(unlike)
    number[lonely] = len(chosen) + np.arange(len(lonely))
    chosen = np.append(chosen, lonely)
    order = np.argsort(chosen)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return chosen[order], rank[number]


def _mixed(mark: MarkArray, column: AnyArray) -> MarkArray:
    """Marks that tell another column too."""
    mixed = (mark ^ (mark >> np.uint64(29))) * _ODD + column.astype(np.uint64)
    mixed *= _OTHER
    return mixed ^ (mixed >> np.uint64(32))


def _unlike(columns: Sequence[IntArray], items: Sequence[Items], other: IntArray) -> BoolArray:
    """Which rows are not what each has as its ``other`` row."""
    unlike = np.zeros(len(other), dtype=np.bool_)
    for column in columns:
        unlike |= column != column[other]
    for first, of in items:
        sizes = np.diff(first)
        unlike |= sizes != sizes[other]
        fitting = np.where(unlike, 0, sizes)
        mine, row = stretches(first[:-1], fitting)
        its, _ = stretches(first[:-1][other], fitting)
        for column in of:
            unlike |= any_of(row, column[mine] != column[its], len(other))
    return unlike
