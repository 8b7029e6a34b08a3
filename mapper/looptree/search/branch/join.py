"""Joining the tilings of all groups of a template under bounds. Compiled.

The rows of a table are the leaves of a binary tree, of which each node bounds what the rows below it contribute. Of a
node of each group the one with most rows is halved, and the half of the smaller bound comes first, down to one row of
each group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import allocating, entry, inlined
from mapper.looptree.search.branch.bounds import Problem
from mapper.looptree.search.branch.form import Form, form_of
from mapper.looptree.search.branch.keys import fill_bound, fill_key, fits, is_better
from mapper.looptree.search.branch.rows import put
from mapper.looptree.search.branch.store import Shelf, read

EVALUATED, OPENED = range(2)  # of progress
DONE, OVER, MISSING = range(3)  # why solve stopped


class Stack(NamedTuple):
    """What is left to try: by depth and group a node ``at``, its ``first`` row and how ``many``; ``keys`` bound it."""

    keys: Any
    at: Any
    first: Any
    many: Any


class Results(NamedTuple):
    """What joins improve. ``best`` (3): a key; ``winner``: template, options, then rows of tables; ``progress``: what
    was EVALUATED and OPENED, of the former at most ``limit`` once something is found.
    """

    best: Any
    winner: Any
    progress: Any
    limit: int


@entry
@allocating
def solve(
    arrays: Any,
    problem: Problem,
    t: int,
    choices: Any,
    begin: int,
    shelf: Shelf,
    given: Any,
    results: Results,
    refined: bool,
) -> tuple[int, int]:
    """Best tilings of template ``t`` under its spatial choices from ``begin`` on; improves ``results``.

    ``given`` (G): numbers of tables to be used, -1 for those ``where`` the shelf has them. ``refined``: put the key of
    the best tilings of each into ``choices`` instead, infinite where none is better. Returns where it stopped and why:
    a table is MISSING, DONE, or OVER when more than the limit was evaluated.
    """
    tabled = np.empty(arrays.shape.shape[1], np.int64)
    best, winner, progress = results.best, results.winner, results.progress
    for i in range(begin, choices.shape[0]):
        worth = is_better(choices[i, :3], best)
        if (worth or refined) and results.winner[0] >= 0 and progress[EVALUATED] > results.limit:
            return i, OVER
        if worth and not _find(arrays, problem, t, choices[i], shelf, given, tabled):
            return i, MISSING
        if refined:
            best, winner = results.best.copy(), np.empty_like(results.winner)
        if worth:
            _join(arrays, problem, t, choices[i], shelf, tabled, best, winner, progress)
        if refined:
            better = is_better(best, results.best)
            for k in range(3):
                choices[i, k] = best[k] if better else np.inf
            best = results.best
    return choices.shape[0], DONE


@allocating
def _find(arrays: Any, problem: Problem, t: int, choice: Any, shelf: Shelf, given: Any, tabled: Any) -> bool:
    """Fill the number of each group's table; whether all have been made."""
    for g in range(tabled.size):
        tabled[g] = given[g]
        if given[g] < 0:
            tabled[g] = shelf.where[problem.twin[g], arrays.shape[t, g], int(choice[3 + g])]
    return bool(tabled.min() >= 0)


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
    progress[OPENED] += 1
    rows = shelf.place[tabled, 1]
    if rows.min() == 0 or not _may_be_better(arrays, problem, t, shelf, tabled, best):
        return
    form = form_of(arrays, t, shelf, tabled)
    nodes = _nodes(arrays, t, form, shelf, tabled)
    weights = (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
    bound, key = np.ones(form.columns.size + 1), np.empty((2, 3))
    stack = _stack(rows)
    rest = np.empty(form.columns.size)
    _rest(nodes, stack.at[0], 0, rest)
    _fill(form, arrays.size_bits, weights, rest, nodes[0, 0], bound, stack.keys[0])
    top = 0
    while top >= 0:
        g = np.argmax(stack.many[top])
        if not is_better(stack.keys[top], best):
            top -= 1
        elif stack.many[top, g] == 1:
            put(best, stack.keys[top])
            _note(winner, t, choice, stack.first[top])
            top -= 1
        else:
            progress[EVALUATED] += 2
            _rest(nodes, stack.at[top], g, rest)
            node, left = stack.at[top, g], stack.many[top, g] // 2
            _fill(form, arrays.size_bits, weights, rest, nodes[g, node + 1], bound, key[0])
            _fill(form, arrays.size_bits, weights, rest, nodes[g, node + 2 * left], bound, key[1])
            _halve(stack, top, g, key)
            top += 1


@allocating
def _may_be_better(arrays: Any, problem: Problem, t: int, shelf: Shelf, tabled: Any, best: Any) -> bool:
    """Whether the least figures of whole tables are better than the best."""
    columns, terms = arrays.columns[t], arrays.terms[t, : arrays.terms_of[t]]
    bound, key = np.ones(columns + terms.shape[0]), np.empty(3)
    for g in range(tabled.size):
        least, numbers = shelf.least[tabled[g]], arrays.column[t, g]
        for c in range(columns):
            bound[c] *= least[numbers[c]]
    room, bits = arrays.room[t, : arrays.rooms_of[t]], arrays.bits[t, : arrays.rooms_of[t]]
    if not fits(room, bits, arrays.size_bits, bound):
        return False
    weights = (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
    fill_bound(terms, arrays.energy[t], arrays.times[t, : arrays.times_of[t]], bound, weights, key)
    return bool(is_better(key, best))


@inlined
def _rest(nodes: Any, at: Any, but: Any, rest: Any) -> None:
    """The product of the nodes of all groups but one."""
    rest[:] = 1.0
    for g in range(at.size):
        if g != but:
            for c in range(rest.size):
                rest[c] *= nodes[g, at[g], c]


@inlined
def _fill(form: Form, size_bits: Any, weights: Any, rest: Any, node: Any, bound: Any, key: Any) -> None:
    """``key`` of the product of two rows of columns; infinite where tiles have no room."""
    for c in range(rest.size):
        bound[c] = rest[c] * node[c]
    key[:] = np.inf
    if fits(form.room, form.bits, size_bits, bound):
        fill_key(form.energy, form.times, bound, weights, key)


@inlined
def _halve(stack: Stack, top: int, g: Any, key: Any) -> None:
    """Put the halves of a node of group ``g`` in the place of what is on top, that of the smaller key above."""
    left = stack.many[top, g] // 2
    for i in range(stack.at.shape[1]):
        stack.at[top + 1, i], stack.first[top + 1, i] = stack.at[top, i], stack.first[top, i]
        stack.many[top + 1, i] = stack.many[top, i]
    upper = 1 if is_better(key[1], key[0]) else 0
    for which in range(2):
        to = top + 1 if which == upper else top
        for i in range(3):
            stack.keys[to, i] = key[which, i]
        stack.at[to, g] += 2 * left if which else 1
        stack.first[to, g] += left if which else 0
        stack.many[to, g] = stack.many[to, g] - left if which else left


@allocating
def _stack(rows: Any) -> Stack:
    """The whole of tables of so many ``rows``, with room for all of its halves."""
    deep = 1
    for g in range(rows.size):
        many = rows[g]
        while many > 1:
            many -= many // 2
            deep += 1
    shape = (deep, rows.size)
    found = Stack(np.empty((deep, 3)), np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.empty(shape, np.int64))
    put(found.many[0], rows)
    return found


@inlined
def _note(winner: Any, t: int, choice: Any, rows: Any) -> None:
    winner[0] = t
    for g in range(rows.size):
        winner[1 + g] = int(choice[3 + g])
        winner[1 + rows.size + g] = rows[g]


@allocating
def _nodes(arrays: Any, t: int, form: Form, shelf: Shelf, tabled: Any) -> Any:
    """(G, nodes, columns) bounds of what the rows below each node contribute.

    The first node of a table has all rows; below one of n rows lie that of its first n // 2 rows, next, then, after
    those below it, that of the others.
    """
    most = 2 * shelf.place[tabled, 1].max() - 1
    found = np.empty((tabled.size, most, form.columns.size))
    first, many = np.empty(most, np.int64), np.empty(most, np.int64)
    for g in range(tabled.size):
        source = read(shelf.place, shelf.figures, tabled[g])
        first[0], many[0] = 0, source.shape[0]
        for node in range(2 * source.shape[0] - 1):
            left = many[node] // 2
            if left:
                first[node + 1], many[node + 1] = first[node], left
                first[node + 2 * left], many[node + 2 * left] = first[node] + left, many[node] - left
        for node in range(2 * source.shape[0] - 2, -1, -1):
            left = many[node] // 2
            if left:
                _fill_node(found[g, node], found[g, node + 1], found[g, node + 2 * left], form.subtracted)
                continue
            for c in range(form.columns.size):
                found[g, node, c] = source[first[node], arrays.column[t, g, form.columns[c]]]
    return found


@inlined
def _fill_node(node: Any, first: Any, second: Any, subtracted: Any) -> None:
    for c in range(node.size):
        node[c] = max(first[c], second[c]) if subtracted[c] else min(first[c], second[c])
