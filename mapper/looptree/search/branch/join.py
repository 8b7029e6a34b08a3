"""Joining the tilings of all groups of a template under bounds. Compiled.

The rows of a table are the leaves of a binary tree, of which each node bounds what the rows below it contribute. Of a
node of each group the one with most rows is halved, and the half of the smaller bound comes first, down to one row of
each group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import entry, inlined, njit
from mapper.looptree.search.branch.bounds import Problem, room_of
from mapper.looptree.search.branch.form import Form, Merge, fill_form, merge_of
from mapper.looptree.search.branch.keys import fill_bound, fill_key, fits, is_better
from mapper.looptree.search.branch.rows import fill, put
from mapper.looptree.search.branch.store import Shelf

EVALUATED, OPENED = range(2)  # of progress
DONE, OVER, MISSING = range(3)  # why solve stopped
_DEEP = 48  # halves of a table that wait: it has fewer than 2 ** 48 rows


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


class Joins(NamedTuple):
    """Room to join tables of up to ``widest`` rows, written over. ``tabled`` (G): their numbers; ``best`` and
    ``winner``: of one choice; ``bound`` (C + K), ``key`` (2, 3), ``rest`` (C): of all groups but one; ``nodes``: the
    columns of a form of each node of each group, one after the other, and the ``first`` row and how ``many`` of each
    node of a table.
    """

    widest: int
    merge: Merge
    stack: Stack
    tabled: Any
    best: Any
    winner: Any
    bound: Any
    key: Any
    rest: Any
    nodes: Any
    first: Any
    many: Any


def joins_of(arrays: Any, widest: int) -> Joins:
    """Room for the tables of any template."""
    groups, columns, nodes = arrays.shape.shape[1], int(arrays.columns.max()), 2 * widest
    deep = 1 + _DEEP * groups
    at, first, many = np.empty((3, deep, groups), np.int64)
    return Joins(
        widest,
        merge_of(arrays),
        Stack(np.empty((deep, 3)), at, first, many),
        np.empty(groups, np.int64),
        np.empty(3),
        np.empty(1 + 2 * groups, np.int64),
        np.empty(room_of(arrays) + 1),
        np.empty((2, 3)),
        np.empty(columns),
        np.empty(groups * nodes * columns),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
    )


@entry
@njit
def solve(
    arrays: Any,
    problem: Any,
    t: int,
    choices: Any,
    begin: int,
    shelf: Any,
    given: Any,
    results: Results,
    refined: bool,
    joins: Any,
) -> tuple[int, int]:
    """Best tilings of template ``t`` under its spatial choices from ``begin`` on; improves ``results``.

    ``given`` (G): numbers of tables to be used, -1 for those ``where`` the shelf has them. ``refined``: put the key of
    the best tilings of each into ``choices`` instead, infinite where none is better. Returns where it stopped and why:
    a table is MISSING, DONE, or OVER when more than the limit was evaluated.
    """
    tabled, best, winner, progress = joins.tabled, results.best, results.winner, results.progress
    for i in range(begin, choices.shape[0]):
        worth = is_better(choices[i, :3], best)
        if (worth or refined) and results.winner[0] >= 0 and progress[EVALUATED] > results.limit:
            return i, OVER
        if worth and not _find(arrays, problem, t, choices[i], shelf, given, tabled):
            return i, MISSING
        if refined:
            best, winner = joins.best, joins.winner
            put(best, results.best)
        if worth:
            _join(arrays, problem, t, choices[i], shelf, best, winner, progress, joins)
        if refined:
            better = is_better(best, results.best)
            for k in range(3):
                choices[i, k] = best[k] if better else np.inf
            best = results.best
    return choices.shape[0], DONE


@njit
def _find(arrays: Any, problem: Problem, t: int, choice: Any, shelf: Shelf, given: Any, tabled: Any) -> bool:
    """Fill the number of each group's table; whether all have been made."""
    for g in range(tabled.size):
        tabled[g] = given[g]
        if given[g] < 0:
            tabled[g] = shelf.where[problem.twin[g], arrays.shape[t, g], int(choice[3 + g])]
        if tabled[g] < 0:
            return False
    return True


@njit
def _join(
    arrays: Any,
    problem: Problem,
    t: int,
    choice: Any,
    shelf: Shelf,
    best: Any,
    winner: Any,
    progress: Any,
    joins: Joins,
) -> None:
    progress[OPENED] += 1
    tabled, stack = joins.tabled, joins.stack
    if not _begin(shelf, tabled, stack) or not _may_be_better(arrays, problem, t, shelf, best, joins):
        return
    columns, whole = fill_form(arrays, t, shelf, tabled, joins.merge), joins.merge.form
    form = Form(
        whole.columns[:columns],
        whole.energy[: columns + 1],
        whole.times[: arrays.times_of[t]],
        whole.room[: arrays.rooms_of[t]],
        whole.bits[: arrays.rooms_of[t]],
        whole.subtracted[:columns],
    )
    most = _fill_nodes(arrays, t, form, shelf, tabled, joins)
    weights = (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
    bound, key, rest, nodes = joins.bound[: columns + 1], joins.key, joins.rest[:columns], joins.nodes
    bound[columns] = 1.0
    _rest(nodes, most, stack.at[0], 0, rest)
    _fill(form, arrays.size_bits, weights, rest, nodes[:columns], bound, stack.keys[0])
    top = 0
    while top >= 0:
        g = _largest(stack.many[top])
        if not is_better(stack.keys[top], best):
            top -= 1
        elif stack.many[top, g] == 1:
            put(best, stack.keys[top])
            _note(winner, t, choice, stack.first[top])
            top -= 1
        else:
            progress[EVALUATED] += 2
            _rest(nodes, most, stack.at[top], g, rest)
            node, left = g * most + stack.at[top, g], stack.many[top, g] // 2
            for which in range(2):
                below = (node + 2 * left if which else node + 1) * columns
                half = nodes[below : below + columns]
                _fill(form, arrays.size_bits, weights, rest, half, bound, key[which])
            _halve(stack, top, g, key)
            top += 1


@inlined
def _begin(shelf: Shelf, tabled: Any, stack: Stack) -> bool:
    """Put whole tables on the stack; whether all have rows."""
    rows = True
    for g in range(tabled.size):
        stack.at[0, g] = stack.first[0, g] = 0
        stack.many[0, g] = shelf.place[tabled[g], 1]
        rows &= stack.many[0, g] > 0
    return rows


@inlined
def _largest(many: Any) -> int:
    """The first group of the most rows."""
    largest = 0
    for g in range(1, many.size):
        if many[g] > many[largest]:
            largest = g
    return largest


@njit
def _may_be_better(arrays: Any, problem: Problem, t: int, shelf: Shelf, best: Any, joins: Joins) -> bool:
    """Whether the least figures of whole tables are better than the best."""
    columns, terms = arrays.columns[t], arrays.terms[t, : arrays.terms_of[t]]
    tabled, bound, key = joins.tabled, joins.bound[: columns + terms.shape[0]], joins.key[0]
    fill(bound, 1.0)
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
def _rest(nodes: Any, most: int, at: Any, but: Any, rest: Any) -> None:
    """The product of the nodes of all groups but one."""
    fill(rest, 1.0)
    for g in range(at.size):
        if g != but:
            start = (g * most + at[g]) * rest.size
            for c in range(rest.size):
                rest[c] *= nodes[start + c]


@inlined
def _fill(form: Form, size_bits: Any, weights: Any, rest: Any, node: Any, bound: Any, key: Any) -> None:
    """``key`` of the product of two rows of columns; infinite where tiles have no room."""
    for c in range(rest.size):
        bound[c] = rest[c] * node[c]
    fill(key, np.inf)
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


@inlined
def _note(winner: Any, t: int, choice: Any, rows: Any) -> None:
    winner[0] = t
    for g in range(rows.size):
        winner[1 + g] = int(choice[3 + g])
        winner[1 + rows.size + g] = rows[g]


@njit
def _fill_nodes(arrays: Any, t: int, form: Form, shelf: Shelf, tabled: Any, joins: Joins) -> int:
    """Bounds of what the rows below each node contribute; for how many nodes of a group there is room.

    The first node of a table has all rows; below one of n rows lie that of its first n // 2 rows, next, then, after
    those below it, that of the others.
    """
    first, many, found, columns = joins.first, joins.many, joins.nodes, form.columns.size
    most = 0
    for g in range(tabled.size):
        most = max(most, 2 * shelf.place[tabled[g], 1] - 1)
    for g in range(tabled.size):
        place = shelf.place[tabled[g]]
        start, rows, width = place[0], place[1], place[2]
        first[0], many[0] = 0, rows
        for node in range(2 * rows - 1):
            left = many[node] // 2
            if left:
                first[node + 1], many[node + 1] = first[node], left
                first[node + 2 * left], many[node + 2 * left] = first[node] + left, many[node] - left
        for node in range(2 * rows - 2, -1, -1):
            left, at = many[node] // 2, (g * most + node) * columns
            if left:
                _fill_node(found, at, at + columns, at + 2 * left * columns, form.subtracted)
                continue
            for c in range(columns):
                found[at + c] = shelf.figures[start + first[node] * width + arrays.column[t, g, form.columns[c]]]
    return most


@inlined
def _fill_node(found: Any, node: int, first: int, second: int, subtracted: Any) -> None:
    for c in range(subtracted.size):
        one, two = found[first + c], found[second + c]
        found[node + c] = max(one, two) if subtracted[c] else min(one, two)
