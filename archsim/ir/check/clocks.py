"""Vector clocks of the waits of a Program: what has ended, in any interleaving, when each of them is over.

Waits of one level follow none of each other, so that their clocks are merged together: with many cores there are few
levels of many waits. Where a level has few, one after the other is faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.waits import Waits

IntArray = NDArray[np.int64]
Clocks = NDArray[Any]  # in the smallest unsigned integers that hold all counts
AT_ONCE = 1 << 18  # bytes of clocks that are merged together: what processors keep near
FEW = 4  # waits of a level below which they are merged one by one


def clocks_of(waits: Waits, levels: IntArray, counts: IntArray) -> Clocks:
    """Row 0: nothing has ended; row n + 1: the clock of wait n's queue from it on, shape (1 + waits, queues).

    ``levels`` of the waits, above those of all that they follow; ``counts``: commands of each queue.
    """
    clocks = np.zeros((1 + len(levels), len(counts)), dtype=np.min_scalar_type(int(counts.max(initial=0))))
    sizes = np.diff(waits.begin)
    order = np.lexsort((-sizes, levels))
    before = np.where(np.diff(waits.queue, prepend=-1) == 0, np.arange(len(levels)), 0)
    ends = np.cumsum(np.bincount(levels)).tolist() if len(levels) else []
    at_once = max(1, AT_ONCE // max(1, clocks[0].nbytes))
    begin = 0
    for end in ends:
        numbers = order[begin:end]
        if end - begin < FEW:
            for number in numbers.tolist():
                _merge_one(clocks, waits, number, int(before[number]))
        else:
            for part in range(0, end - begin, at_once):
                some = numbers[part : part + at_once]
                _merge(clocks, waits, some, before[some], sizes[some])
        begin = end
    return clocks


def _merge(clocks: Clocks, waits: Waits, numbers: IntArray, before: IntArray, sizes: IntArray) -> None:
    """The clocks of the waits ``numbers``: that of the wait ``before``, what each giver knew, and the givers.

    ``sizes``: how many each follows, the most first.
    """
    mine = clocks[before]
    begin, each = waits.begin[numbers], np.arange(len(numbers))
    having = np.searchsorted(-sizes, -np.arange(int(sizes[0])), side="left")
    for rank, count in enumerate(having.tolist()):
        rows = begin[:count] + rank
        some, giver = mine[:count], waits.giver[rows]
        np.maximum(some, clocks[waits.after[rows] + 1], out=some)
        at = each[:count], giver
        some[at] = np.maximum(some[at], (waits.index[rows] + 1).astype(some.dtype))
    clocks[numbers + 1] = mine


def _merge_one(clocks: Clocks, waits: Waits, number: int, before: int) -> None:
    """The same of one wait."""
    giver, index, after = waits.giver.data, waits.index.data, waits.after.data
    mine = clocks[number + 1]
    mine[:] = clocks[before]
    for row in range(waits.begin.item(number), waits.begin.item(number + 1)):
        source, at = giver[row], index[row]
        if mine.item(source) <= at:
            np.maximum(mine, clocks[after[row] + 1], out=mine)
            mine[source] = at + 1
