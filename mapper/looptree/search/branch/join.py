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
    """Halve the rows of one group after the other, the half of the smaller bound first, down to a row of each."""
    groups = tabled.size
    progress[OPENED] += 1
    rows = shelf.place[tabled, 1]
    if rows.min() == 0:
        return
    form = form_of(arrays, t, shelf, tabled)
    nodes = _nodes(arrays, t, form, shelf, tabled)
    columns, weights = form.columns.size, (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
    bound, rest, key, half = np.ones(columns + 1), np.ones(columns), np.empty((2, 3)), np.empty(2, np.int64)
    deep = groups + 2 + int(np.log2(rows.astype(np.float64)).sum())
    keys, at, first, many = (
        np.zeros((deep, 3)),
        np.zeros((deep, groups), np.int64),
        np.zeros((deep, groups), np.int64),
        np.empty((deep, groups), np.int64),
    )
    many[0] = rows
    top = 0
    for c in range(columns):
        for i in range(groups):
            bound[c] *= nodes[i, 0, c]
    if not fits(form.room, form.bits, arrays.size_bits, bound):
        return
    fill_key(form.energy, form.times, bound, weights, keys[0])
    while top >= 0:
        if not is_better(keys[top], best):
            top -= 1
            continue
        g = np.argmax(many[top])
        if many[top, g] == 1:
            best[:] = keys[top]
            winner[0] = t
            for i in range(groups):
                winner[1 + i] = int(choice[3 + i])
                winner[1 + groups + i] = first[top, i]
            top -= 1
            continue
        for c in range(columns):
            rest[c] = 1.0
            for i in range(groups):
                if i != g:
                    rest[c] *= nodes[i, at[top, i], c]
        left = many[top, g] // 2
        half[0], half[1] = at[top, g] + 1, at[top, g] + 2 * left
        for i in range(2):
            progress[EVALUATED] += 1
            for c in range(columns):
                bound[c] = rest[c] * nodes[g, half[i], c]
            key[i] = np.inf
            if fits(form.room, form.bits, arrays.size_bits, bound):
                fill_key(form.energy, form.times, bound, weights, key[i])
        nearer = 1 if is_better(key[1], key[0]) else 0
        at[top + 1], first[top + 1], many[top + 1] = at[top], first[top], many[top]
        for i in range(2):
            which, to = (1 - nearer, top) if i == 0 else (nearer, top + 1)
            keys[to], at[to, g] = key[which], half[which]
            first[to, g] += which * left
            many[to, g] = many[to, g] - left if which else left
        top += 1


@allocating
def _nodes(arrays: Any, t: int, form: Form, shelf: Shelf, tabled: Any) -> Any:
    """(G, nodes, columns) bounds of what the rows below each node contribute.

    The first node of a table has all rows; below one of n rows lie that of its first n // 2 rows, next, then, after
    those below it, that of the others.
    """
    groups, columns = tabled.size, form.columns.size
    most = shelf.place[tabled, 1].max()
    found = np.empty((groups, 2 * most - 1, columns))
    first, many = np.empty(2 * most - 1, np.int64), np.empty(2 * most - 1, np.int64)
    for g in range(groups):
        source = read(shelf.place, shelf.figures, tabled[g])
        first[0], many[0] = 0, source.shape[0]
        total = 2 * source.shape[0] - 1
        for node in range(total):
            left = many[node] // 2
            if left:
                first[node + 1], many[node + 1] = first[node], left
                first[node + 2 * left], many[node + 2 * left] = first[node] + left, many[node] - left
        for node in range(total - 1, -1, -1):
            left = many[node] // 2
            for c in range(columns):
                if left == 0:
                    found[g, node, c] = source[first[node], arrays.column[t, g, form.columns[c]]]
                elif form.subtracted[c]:
                    found[g, node, c] = max(found[g, node + 1, c], found[g, node + 2 * left, c])
                else:
                    found[g, node, c] = min(found[g, node + 1, c], found[g, node + 2 * left, c])
    return found
