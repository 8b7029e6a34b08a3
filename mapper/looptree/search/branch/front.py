"""Which rows of a table can be best, and an order of them in which they can be halved. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.jit import allocating, entry, inlined

RUN = 16  # rows of which the least figures are known
ALIKE = 1e-12  # relative difference of figures that are equal but for rounding


@allocating
def best_rows(found: Any, columns: int) -> Any:
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
        for i in range(rows):
            figures[i, c] = found[varied[c], order[i]]
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
        kept[count] = row
        for c in range(columns):
            front[count, c] = figures[row, c]
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
        for i, place in enumerate(np.argsort(figures[own, widest], kind="mergesort")):
            order[start + i] = own[place]
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


@entry
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
