"""Joining the tilings of all groups of a template, depth first with bounds. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.kernels import allocating
from mapper.looptree.search.branch.bounds import Problem
from mapper.looptree.search.branch.form import Form, form_of
from mapper.looptree.search.branch.keys import fill_key, fits, is_better
from mapper.looptree.search.branch.store import Shelf, read

EVALUATED, OPENED = range(2)  # of progress
DONE, OVER = -1, -2  # why solve stopped


@allocating
def solve(
    arrays: Any,
    problem: Problem,
    t: int,
    choices: Any,
    begin: int,
    shelf: Shelf,
    best: Any,
    winner: Any,
    progress: Any,
    limit: int,
) -> tuple[int, int]:
    """Best tilings of template ``t`` under its spatial choices from ``begin`` on; improves ``best`` and ``winner``.

    ``winner``: template, options, then the rows of the tables. Returns where it stopped and why: the group of which
    a table is missing, DONE, or OVER when more than ``limit`` joins were evaluated.
    """
    groups = arrays.shape.shape[1]
    at = np.empty(groups, np.int64)
    for i in range(begin, choices.shape[0]):
        if not is_better(choices[i, :3], best):
            return i, DONE
        if winner[0] >= 0 and progress[EVALUATED] > limit:
            return i, OVER
        missing = _tables(arrays, problem, t, choices[i], shelf, at)
        if missing >= 0:
            return i, missing
        _join(arrays, problem, t, choices[i], shelf, at, best, winner, progress)
    return choices.shape[0], DONE


@allocating
def refine(
    arrays: Any,
    problem: Problem,
    t: int,
    choices: Any,
    begin: int,
    shelf: Shelf,
    best: Any,
    winner: Any,
    progress: Any,
    limit: int,
) -> tuple[int, int]:
    """As ``solve``, but puts into ``choices`` the key of the best tilings of each; infinite where none is better."""
    at, none = np.empty(arrays.shape.shape[1], np.int64), np.empty_like(winner)
    for i in range(begin, choices.shape[0]):
        if winner[0] >= 0 and progress[EVALUATED] > limit:
            return i, OVER
        key = best.copy()
        if is_better(choices[i, :3], best):
            missing = _tables(arrays, problem, t, choices[i], shelf, at)
            if missing >= 0:
                return i, missing
            _join(arrays, problem, t, choices[i], shelf, at, key, none, progress)
        if is_better(key, best):
            choices[i, :3] = key
        else:
            choices[i, :3] = np.inf
    return choices.shape[0], DONE


@allocating
def _tables(arrays: Any, problem: Problem, t: int, choice: Any, shelf: Shelf, at: Any) -> int:
    """Fill the number of each group's table; the group of which it has not been made, or -1."""
    for g in range(at.size):
        at[g] = shelf.where[problem.twin[g], arrays.shape[t, g], int(choice[3 + g])]
        if at[g] < 0:
            return g
    return -1


@allocating
def _join(
    arrays: Any,
    problem: Problem,
    t: int,
    choice: Any,
    shelf: Shelf,
    tabled: Any,
    best: Any,
    winner: Any,
    progress: Any,
) -> None:
    groups = tabled.size
    progress[OPENED] += 1
    if shelf.place[tabled, 1].min() == 0:
        return
    form = form_of(arrays, t, shelf, tabled)
    order = np.argsort(-shelf.place[tabled, 1], kind="mergesort")
    rows = shelf.place[tabled, 1][order]
    own, bounded = _local(arrays, t, form, shelf, tabled, order, rows)
    columns = form.columns.size
    product, bound = np.ones((groups + 1, columns)), np.ones(columns + 1)
    at = np.full(groups, -1, np.int64)
    key = np.empty(3)
    weights = (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
    d = 0
    while d >= 0:
        at[d] += 1
        if at[d] >= rows[d]:
            at[d] = -1
            d -= 1
            continue
        progress[EVALUATED] += 1
        for c in range(columns):
            bound[c] = product[d, c] * bounded[d, at[d], c]
        if not fits(form.room, form.bits, arrays.size_bits, bound):
            continue
        fill_key(form.energy, form.times, bound, weights, key)
        if not is_better(key, best):
            continue
        if d + 1 < groups:
            for c in range(columns):
                product[d + 1, c] = product[d, c] * own[d, at[d], c]
            d += 1
            continue
        best[:] = key
        winner[0] = t
        for g in range(groups):
            winner[1 + g] = int(choice[3 + g])
            winner[1 + groups + order[g]] = at[g]


@allocating
def _local(arrays: Any, t: int, form: Form, shelf: Shelf, tabled: Any, order: Any, rows: Any) -> tuple[Any, Any]:
    """(D, rows, columns) what each row contributes, and that times the bound of all groups after it."""
    groups, columns = tabled.size, form.columns.size
    own = np.empty((groups, rows.max(), columns))
    bounded = np.empty_like(own)
    rest = np.ones(columns)
    for d in range(groups - 1, -1, -1):
        source = read(shelf.place, shelf.figures, tabled[order[d]])
        for c in range(columns):
            column = arrays.column[t, order[d], form.columns[c]]
            for row in range(rows[d]):
                own[d, row, c] = source[row, column]
                bounded[d, row, c] = source[row, column] * rest[c]
            rest[c] *= source[:, column].max() if form.subtracted[c] else source[:, column].min()
    return own, bounded
