"""Joining groups: depth first over their spatial options, then over their tilings, with bounds. Compiled.

A figure of a partial choice is bounded from below by the product of what is chosen and the least of every group that
is not; so are energy, each part's time, and the room that tiles need. Keys are (objective, latency, energy).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.kernels import njit
from mapper.looptree.search.branch.form import Form, form_of
from mapper.looptree.search.branch.least import least_of
from mapper.looptree.search.branch.tables import classes, table
from mapper.looptree.search.objective import SAME

FIT = 1 + 1e-9  # of a size in bits, which need not be whole
EVALUATED, OPENED, SPENT = range(3)  # of progress


class Problem(NamedTuple):
    """G groups, O options of a group, A axes. ``extents`` (G, 2); ``shares`` (G, O, 2, A), ``options`` (G) how many.

    ``instances`` (G, O, A): trips on each axis, of which the product over groups is at most ``fanout`` (A);
    ``rounds`` (G, O, A), of which it is at most ``most_rounds`` (A). ``kind``: which factors.
    """

    extents: Any
    shares: Any
    options: Any
    instances: Any
    rounds: Any
    fanout: Any
    most_rounds: Any
    kind: int
    energy_power: float
    delay_power: float


@njit
def all_least(arrays: Any, problem: Problem) -> Any:
    """(G, S, O, C) lower bounds of every factor of every shape under every option."""
    groups, shapes, most = arrays.factors.shape[:3]
    found = np.empty((groups, shapes, problem.shares.shape[1], most))
    for g in range(groups):
        for s in range(shapes):
            for o in range(problem.options[g]):
                if arrays.sizes[g, s]:
                    least_of(
                        arrays.factors[g, s],
                        arrays.sizes[g, s],
                        arrays.loops[g, s],
                        problem.extents[g],
                        problem.shares[g, o],
                        problem.kind,
                        arrays.spans,
                        found[g, s, o],
                    )
    return found


@njit
def key_of(arrays: Any, problem: Problem, t: int, product: Any, key: Any) -> bool:
    """Fill ``key`` from the columns of template ``t``; False when its tiles need more room than there is."""
    held = 0.0
    memory = -1
    for i in range(arrays.rooms_of[t]):
        if arrays.room[t, i, 0] != memory:
            held, memory = 0.0, arrays.room[t, i, 0]
        held += product[arrays.room[t, i, 1]] * arrays.bits[t, i]
        if held > arrays.size_bits[memory] * FIT:
            return False
    energy, latency = 0.0, 0.0
    values = np.empty(arrays.terms_of[t])
    for k in range(arrays.terms_of[t]):
        lower, column = arrays.terms[t, k, 0], arrays.terms[t, k, 1]
        value = product[column] if lower < 0 else product[lower] * (product[column] - 1.0)
        values[k] = value
        energy += arrays.energy[t, k] * value
    for f in range(arrays.times_of[t]):
        seconds = 0.0
        for k in range(arrays.terms_of[t]):
            seconds += arrays.times[t, f, k] * values[k]
        latency = max(latency, seconds)
    energy += arrays.leak_w * latency + arrays.fixed_j
    key[0] = _power(energy, problem.energy_power) * _power(latency, problem.delay_power)
    key[1], key[2] = latency, energy
    return True


@njit
def _power(value: float, exponent: float) -> float:
    if exponent == 1.0:
        return value
    if exponent == 0.0:
        return 1.0
    return float(value**exponent)


@njit
def is_better(key: Any, other: Any) -> bool:
    """Whether a key is smaller, figures that differ by rounding alone being equal."""
    for i in range(3):
        if abs(key[i] - other[i]) > SAME * min(abs(key[i]), abs(other[i])):
            return bool(key[i] < other[i])
    return False


@njit
def bounds(arrays: Any, problem: Problem, least: Any) -> Any:
    """(T, 3) a lower bound of the key of each template; infinite where nothing fits."""
    total, groups = arrays.shape.shape
    found = np.full((total, 3), np.inf)
    product = np.empty(arrays.column.shape[2])
    for t in range(total):
        product[:] = 1.0
        for g in range(groups):
            s = arrays.shape[t, g]
            for c in range(arrays.columns[t]):
                column = arrays.column[t, g, c]
                low = np.inf
                for o in range(problem.options[g]):
                    low = min(low, least[g, s, o, column])
                product[c] *= low
        if not (product[: arrays.columns[t]] < np.inf).all() or not key_of(arrays, problem, t, product, found[t]):
            found[t] = np.inf
    return found


@njit
def spatial(arrays: Any, problem: Problem, least: Any, t: int, best: Any) -> Any:
    """(choices, 3 + G) keys that bound template ``t`` under each choice of options that may beat ``best``, in order."""
    groups, columns = arrays.shape.shape[1], arrays.columns[t]
    found = np.empty((64, 3 + groups))
    count = 0
    product = np.ones((groups + 1, columns))
    low = _suffix(arrays, problem, least, t)
    chosen = np.full(groups + 1, -1, np.int64)
    key, bound = np.empty(3), np.empty(columns)
    g = 0
    while g >= 0:
        chosen[g] += 1
        if chosen[g] >= problem.options[g]:
            chosen[g] = -1
            g -= 1
            continue
        if not _fits_axes(problem, chosen, g):
            continue
        s = arrays.shape[t, g]
        for c in range(columns):
            product[g + 1, c] = product[g, c] * least[g, s, chosen[g], arrays.column[t, g, c]]
            bound[c] = product[g + 1, c] * low[g + 1, c]
        if not bound[0] < np.inf or not key_of(arrays, problem, t, bound, key) or not is_better(key, best):
            continue
        if g + 1 < groups:
            g += 1
            continue
        if not _used_enough(problem, chosen):
            continue
        if count == found.shape[0]:
            found = np.concatenate((found, np.empty_like(found)))
        found[count, :3], found[count, 3:] = key, chosen[:groups]
        count += 1
    found = found[:count]
    return found[_ordered(found)]


@njit
def _ordered(rows: Any) -> Any:
    """By key, ties in the order in which they were found."""
    order = np.arange(rows.shape[0])
    for c in range(2, -1, -1):
        order = order[np.argsort(rows[order, c], kind="mergesort")]
    return order


@njit
def _suffix(arrays: Any, problem: Problem, least: Any, t: int) -> Any:
    """(G + 1, columns) the least product of groups g, g + 1, ... over their options."""
    groups, columns = arrays.shape.shape[1], arrays.columns[t]
    low = np.ones((groups + 1, columns))
    for g in range(groups - 1, -1, -1):
        s = arrays.shape[t, g]
        for c in range(columns):
            column = arrays.column[t, g, c]
            one = np.inf
            for o in range(problem.options[g]):
                one = min(one, least[g, s, o, column])
            low[g, c] = low[g + 1, c] * one
    return low


@njit
def _fits_axes(problem: Problem, chosen: Any, g: int) -> bool:
    for a in range(problem.fanout.size):
        used = 1
        for i in range(g + 1):
            used *= problem.instances[i, chosen[i], a]
        if used > problem.fanout[a]:
            return False
    return True


@njit
def _used_enough(problem: Problem, chosen: Any) -> bool:
    for a in range(problem.fanout.size):
        rounds = 1
        for g in range(problem.options.size):
            rounds *= problem.rounds[g, chosen[g], a]
        if rounds > problem.most_rounds[a]:
            return False
    return True


@njit
def solve(
    arrays: Any,
    problem: Problem,
    t: int,
    choices: Any,
    tables: Any,
    alike: Any,
    where: Any,
    best: Any,
    winner: Any,
    progress: Any,
    limit: int,
) -> float:
    """Best tilings of template ``t`` under its spatial choices, in their order; improves ``best`` and ``winner``.

    ``winner``: template, options, then the rows of the tables. Returns the least objective that is left unexplored:
    infinite when none is, less than the best only when more than ``limit`` joins were evaluated.
    """
    groups = arrays.shape.shape[1]
    at = np.empty(groups, np.int64)
    for i in range(choices.shape[0]):
        if not is_better(choices[i, :3], best):
            return np.inf
        if progress[EVALUATED] > limit:
            return float(choices[i, 0])
        progress[OPENED] += 1
        rows = 1
        for g in range(groups):
            at[g] = _tabulated(arrays, problem, g, arrays.shape[t, g], int(choices[i, 3 + g]), tables, alike, where)
            rows *= tables[at[g]].shape[0]
        if rows:
            form = form_of(arrays, t, tables, alike, at)
            _join(arrays, problem, t, form, choices[i], tables, at, best, winner, progress)
    return np.inf


@njit
def _tabulated(arrays: Any, problem: Problem, g: int, s: int, o: int, tables: Any, alike: Any, where: Any) -> int:
    """The number of the table of a shape under an option; made when first asked for."""
    if where[g, s, o] < 0:
        where[g, s, o] = len(tables)
        columns, loops, shares = arrays.sizes[g, s], arrays.loops[g, s], problem.shares[g, o]
        made = table(arrays.factors[g, s], columns, loops, problem.extents[g], shares, problem.kind, arrays.spans)
        tables.append(made)
        alike.append(classes(made, columns))
    return int(where[g, s, o])


@njit
def _join(
    arrays: Any,
    problem: Problem,
    t: int,
    form: Form,
    choice: Any,
    tables: Any,
    tabled: Any,
    best: Any,
    winner: Any,
    progress: Any,
) -> None:
    groups = tabled.size
    order = _largest_first(tables, tabled)
    rows = np.empty(groups, np.int64)
    for d in range(groups):
        rows[d] = tables[tabled[order[d]]].shape[0]
    own, bounded = _local(arrays, t, form, tables, tabled, order, rows)
    columns = form.columns.size
    product, bound = np.ones((groups + 1, columns)), np.ones(columns + 1)
    at = np.full(groups, -1, np.int64)
    key = np.empty(3)
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
        if not _key(arrays, problem, form, bound, key) or not is_better(key, best):
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


@njit
def _local(arrays: Any, t: int, form: Form, tables: Any, tabled: Any, order: Any, rows: Any) -> tuple[Any, Any]:
    """(D, rows, columns) what each row contributes, and that times the bound of all groups after it."""
    groups, columns = tabled.size, form.columns.size
    own = np.empty((groups, rows.max(), columns))
    bounded = np.empty_like(own)
    rest = np.ones(columns)
    for d in range(groups - 1, -1, -1):
        source = tables[tabled[order[d]]]
        for c in range(columns):
            column = arrays.column[t, order[d], form.columns[c]]
            for row in range(rows[d]):
                own[d, row, c] = source[row, column]
                bounded[d, row, c] = source[row, column] * rest[c]
            rest[c] *= source[:, column].max() if form.subtracted[c] else source[:, column].min()
    return own, bounded


@njit
def _key(arrays: Any, problem: Problem, form: Form, bound: Any, key: Any) -> bool:
    """Fill ``key`` from the columns of a form (1 after them); False when tiles need more room than there is."""
    held, memory = 0.0, -1
    for i in range(form.bits.size):
        if form.room[i, 0] != memory:
            held, memory = 0.0, form.room[i, 0]
        held += bound[form.room[i, 1]] * form.bits[i]
        if held > arrays.size_bits[memory] * FIT:
            return False
    energy, latency = 0.0, 0.0
    for c in range(bound.size):
        energy += form.energy[c] * bound[c]
    for f in range(form.times.shape[0]):
        seconds = 0.0
        for c in range(bound.size):
            seconds += form.times[f, c] * bound[c]
        latency = max(latency, seconds)
    energy += arrays.leak_w * latency + arrays.fixed_j
    key[0] = _power(energy, problem.energy_power) * _power(latency, problem.delay_power)
    key[1], key[2] = latency, energy
    return True


@njit
def _largest_first(tables: Any, tabled: Any) -> Any:
    sizes = np.empty(tabled.size, np.int64)
    for g in range(tabled.size):
        sizes[g] = -tables[tabled[g]].shape[0]
    return np.argsort(sizes, kind="mergesort")
