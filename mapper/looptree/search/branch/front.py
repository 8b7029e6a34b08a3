"""Which rows of a table can be best, and an order of them in which they can be halved. Compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import inlined, njit
from mapper.looptree.search.branch.rows import fill, sort_by

RUN = 16  # rows of which the least figures are known
ALIKE = 1e-12  # relative difference of figures that are equal but for rounding
_MOST_HALVES = 64  # of halves that wait


class Front(NamedTuple):
    """Room for R rows of C columns while those that can be best are found, written over.

    ``varied`` (2, C): different columns that vary, and which one each is like; ``sums`` (R): what sorts the rows, and
    ``order`` (2, R) of them; ``kept`` (R): places of rows in that order, with their ``figures`` of the varied columns,
    row after row, and the ``least`` of each run; ``halves`` (2, _MOST_HALVES): first and last rows.
    """

    varied: Any
    sums: Any
    order: Any
    kept: Any
    figures: Any
    least: Any
    halves: Any


def front_of(rows: int, columns: int) -> Front:
    """Room for so many."""
    return Front(
        np.empty((2, columns), np.int64),
        np.empty(rows),
        np.empty((2, rows), np.int64),
        np.empty(rows, np.int64),
        np.empty(rows * columns),
        np.empty((rows // RUN + 1) * columns),
        np.empty((2, _MOST_HALVES), np.int64),
    )


@njit
def best_rows(found: Any, columns: int, width: int, rows: int, front: Front, result: Any) -> int:
    """Of the first rows of (width, rows) put those that no other is at most equal to in the first ``columns`` into
    ``result``, in an order to be halved; how many there are.
    """
    sums, order, kept, varied = front.sums[:rows], front.order[0, :rows], front.kept, front.varied[0]
    many = classify(found, columns, rows, varied, front.varied[1])
    for row in range(rows):
        order[row], sums[row] = row, 0.0
    for i in range(many):
        column = found[varied[i]]
        least, _ = _extremes(column, rows)
        for row in range(rows):
            sums[row] += column[row] / least
    sort_by(sums, order, front.order[1, :rows])
    count = _keep(found, order, many, front)
    for i in range(count):
        kept[i] = order[kept[i]]
        order[i] = i
    _halve(front, count, many)
    for c in range(width):
        for i in range(count):
            result[c, i] = found[c, kept[order[i]]]
    return count


@njit
def classify(found: Any, columns: int, rows: int, firsts: Any, classes: Any) -> int:
    """Put the columns that vary and differ from those before by more than a factor into ``firsts``, and the first like
    it of each, or -1, into ``classes``; how many differ.
    """
    many = 0
    for c in range(columns):
        classes[c] = -1
        low, high = _extremes(found[c], rows)
        if high <= low:
            continue
        same = _like(found, firsts, many, c, rows)
        if same < 0:
            firsts[many] = c
            same = many
            many += 1
        classes[c] = firsts[same]
    return many


@inlined
def _extremes(column: Any, rows: int) -> tuple[float, float]:
    """The least and the most of the first rows."""
    low, high = np.inf, -np.inf
    for row in range(rows):
        low, high = min(low, column[row]), max(high, column[row])
    return low, high


@njit
def _like(found: Any, among: Any, many: int, c: int, rows: int) -> int:
    """Which of the first ``many`` columns ``among`` those found a column is, but for a factor; -1 for none."""
    column = found[c]
    for i in range(many):
        other = found[among[i]]
        scale = column[0] / other[0]
        alike = True
        for row in range(rows):
            if abs(column[row] - scale * other[row]) > ALIKE * column[row]:
                alike = False
                break
        if alike:
            return i
    return -1


@njit
def _keep(found: Any, order: Any, many: int, front: Front) -> int:
    """Keep the rows that none before them is at most equal to in every varied column; how many there are."""
    figures, least, count = front.figures, front.least, 0
    fill(least[: (order.size // RUN + 1) * many], np.inf)
    for row in range(order.size):
        at = count * many
        for c in range(many):
            figures[at + c] = found[front.varied[0, c], order[row]]
        if _is_beaten(figures, least, count, many):
            continue
        front.kept[count] = row
        run = count // RUN * many
        for c in range(many):
            least[run + c] = min(least[run + c], figures[at + c])
        count += 1
    return count


@njit
def _is_beaten(figures: Any, least: Any, count: int, many: int) -> bool:
    """Whether one of the rows kept is at most equal to the one behind them."""
    for run in range(-(-count // RUN)):
        if not _at_most(least, run * many, figures, count * many, many):
            continue
        for i in range(run * RUN, min(count, (run + 1) * RUN)):
            if _at_most(figures, i * many, figures, count * many, many):
                return True
    return False


@inlined
def _at_most(first: Any, start: int, second: Any, other: int, many: int) -> bool:
    """Whether figures from a place on are at most equal to others."""
    at_most = True
    for c in range(many):
        if first[start + c] > second[other + c]:
            at_most = False
            break
    return at_most


@njit
def _halve(front: Front, count: int, many: int) -> None:
    """Order rows: the first half has the smaller figures of the column that differs most; so again each half."""
    order, starts, ends = front.order[0], front.halves[0], front.halves[1]
    starts[0], ends[0] = 0, count
    top = 0
    while top >= 0:
        start, end = starts[top], ends[top]
        top -= 1
        if end - start < 3:
            continue
        widest = _widest(front, start, end, many)
        for i in range(start, end):
            front.sums[order[i]] = front.figures[order[i] * many + widest]
        sort_by(front.sums, order[start:end], front.order[1, start:end])
        middle = start + (end - start) // 2
        starts[top + 1], ends[top + 1], starts[top + 2], ends[top + 2] = start, middle, middle, end
        top += 2


@inlined
def _widest(front: Front, start: int, end: int, many: int) -> int:
    """The column whose most is the largest multiple of its least."""
    widest, most = 0, 1.0
    for c in range(many):
        low, high = np.inf, -np.inf
        for i in range(start, end):
            figure = front.figures[front.order[0, i] * many + c]
            low, high = min(low, figure), max(high, figure)
        if high > most * low:
            widest, most = c, high / low
    return widest
