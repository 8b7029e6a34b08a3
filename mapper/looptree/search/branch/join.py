"""Joining groups: depth first over their spatial options, then over their tilings, with bounds. Compiled.

A figure of a partial choice is bounded from below by the product of what is chosen and the least of every group that
is not; so are energy, each part's time, and the room that tiles need. Keys are (objective, latency, energy).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.kernels import allocating, inlined
from mapper.looptree.search.branch.axes import splits
from mapper.looptree.search.branch.form import Form, form_of
from mapper.looptree.search.branch.least import least_of
from mapper.looptree.search.branch.store import Shelf, read
from mapper.looptree.search.branch.tables import FIT
from mapper.looptree.search.branch.tilings import DIVISORS
from mapper.looptree.search.objective import SAME

EVALUATED, OPENED = range(2)  # of progress
DONE, OVER = -1, -2  # why solve stopped


class Problem(NamedTuple):
    """G groups, O options of a group, A axes. ``extents`` (G, 2); ``shares`` (G, O, 2, A), ``options`` (G) how many.

    ``instances`` (G, O, A): trips on each axis, of which the product over groups is at most ``fanout`` (A);
    ``pairs`` (A, 2): the fan-outs of two axes that are searched as one, or 0; ``rounds`` (G, O, A), of which it is at
    most ``most_rounds`` (A). ``twin`` (G): the first group with the same shapes, extents and options.
    """

    extents: Any
    shares: Any
    options: Any
    instances: Any
    rounds: Any
    fanout: Any
    pairs: Any
    most_rounds: Any
    twin: Any
    kind: int
    energy_power: float
    delay_power: float


@allocating
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


@inlined
def _fill_bound(terms: Any, energy: Any, times: Any, product: Any, weights: Any, key: Any) -> None:
    """``key`` from bounds of the columns of a template, of which differences are kept as ratios."""
    joules, latency = 0.0, 0.0
    for k in range(terms.shape[0]):
        lower, column = terms[k, 0], terms[k, 1]
        product[-1 - k] = product[column] if lower < 0 else product[lower] * (product[column] - 1.0)
        joules += energy[k] * product[-1 - k]
    for f in range(times.shape[0]):
        seconds = 0.0
        for k in range(terms.shape[0]):
            seconds += times[f, k] * product[-1 - k]
        latency = max(latency, seconds)
    joules += weights[0] * latency + weights[1]
    key[0] = _power(joules, weights[2]) * _power(latency, weights[3])
    key[1], key[2] = latency, joules


@inlined
def _power(value: float, exponent: float) -> float:
    result = value
    if exponent != 1.0:
        result = 1.0 if exponent == 0.0 else value**exponent
    return result


@inlined
def is_better(key: Any, other: Any) -> bool:
    """Whether a key is smaller, figures that differ by rounding alone being equal."""
    better = False
    for i in range(3):
        if abs(key[i] - other[i]) > SAME * min(abs(key[i]), abs(other[i])):
            better = key[i] < other[i]
            break
    return better


@allocating
def bounds(arrays: Any, problem: Problem, least: Any) -> Any:
    """(T, 3) a lower bound of the key of each template; infinite where nothing fits."""
    total, groups = arrays.shape.shape
    found = np.full((total, 3), np.inf)
    weights = (arrays.leak_w, arrays.fixed_j, problem.energy_power, problem.delay_power)
    for t in range(total):
        product = np.ones(arrays.columns[t] + arrays.terms_of[t])
        rooms, terms = arrays.rooms_of[t], arrays.terms_of[t]
        for g in range(groups):
            s = arrays.shape[t, g]
            for c in range(arrays.columns[t]):
                column = arrays.column[t, g, c]
                low = np.inf
                for o in range(problem.options[g]):
                    low = min(low, least[g, s, o, column])
                product[c] *= low
        if not (product < np.inf).all():
            continue
        if _fits(arrays.room[t, :rooms], arrays.bits[t, :rooms], arrays.size_bits, product):
            times = arrays.times[t, : arrays.times_of[t]]
            _fill_bound(arrays.terms[t, :terms], arrays.energy[t], times, product, weights, found[t])
    return found


@allocating
def spatial(arrays: Any, problem: Problem, least: Any, t: int, best: Any) -> Any:
    """(choices, 3 + G) keys that bound template ``t`` under each choice of options that may beat ``best``, in order."""
    groups, columns = arrays.shape.shape[1], arrays.columns[t]
    found = np.empty((64, 3 + groups))
    count = 0
    product = np.ones((groups + 1, columns))
    chosen = np.full(groups + 1, -1, np.int64)
    terms, energy = arrays.terms[t, : arrays.terms_of[t]], arrays.energy[t]
    times = arrays.times[t, : arrays.times_of[t]]
    room, bits = arrays.room[t, : arrays.rooms_of[t]], arrays.bits[t, : arrays.rooms_of[t]]
    weights = (arrays.leak_w, arrays.fixed_j, problem.energy_power, problem.delay_power)
    key, bound = np.empty(3), np.empty(columns + terms.shape[0])
    factors = _template_least(arrays, problem, least, t)
    low = _suffix(factors, problem.options)
    g = 0
    while g >= 0:
        chosen[g] += 1
        if chosen[g] >= problem.options[g]:
            chosen[g] = -1
            g -= 1
            continue
        if not fits_axes(problem.instances, problem.fanout, chosen, g):
            continue
        for c in range(columns):
            product[g + 1, c] = product[g, c] * factors[g, chosen[g], c]
            bound[c] = product[g + 1, c] * low[g + 1, c]
        if not bound[0] < np.inf or not _fits(room, bits, arrays.size_bits, bound):
            continue
        _fill_bound(terms, energy, times, bound, weights, key)
        if not is_better(key, best):
            continue
        if g + 1 < groups:
            g += 1
            continue
        if not used_enough(problem.rounds, problem.most_rounds, chosen) or not _splits(problem, chosen):
            continue
        if count == found.shape[0]:
            found = np.concatenate((found, np.empty_like(found)))
        found[count, :3], found[count, 3:] = key, chosen[:groups]
        count += 1
    found = found[:count]
    return found[_ordered(found)]


@allocating
def _ordered(rows: Any) -> Any:
    """By key, ties in the order in which they were found."""
    order = np.arange(rows.shape[0])
    for c in range(2, -1, -1):
        order = order[np.argsort(rows[order, c], kind="mergesort")]
    return order


@allocating
def _template_least(arrays: Any, problem: Problem, least: Any, t: int) -> Any:
    """(G, options, columns) lower bounds of the columns of a template."""
    groups, columns = arrays.shape.shape[1], arrays.columns[t]
    found = np.empty((groups, problem.options.max(), columns))
    for g in range(groups):
        for o in range(problem.options[g]):
            for c in range(columns):
                found[g, o, c] = least[g, arrays.shape[t, g], o, arrays.column[t, g, c]]
    return found


@allocating
def _suffix(factors: Any, options: Any) -> Any:
    """(G + 1, columns) the least product of groups g, g + 1, ... over their options."""
    groups, columns = factors.shape[0], factors.shape[2]
    low = np.ones((groups + 1, columns))
    for g in range(groups - 1, -1, -1):
        for c in range(columns):
            low[g, c] = low[g + 1, c] * factors[g, : options[g], c].min()
    return low


@inlined
def fits_axes(instances: Any, fanout: Any, chosen: Any, g: int) -> bool:
    """Whether the options of groups up to ``g`` find enough instances on every axis."""
    fits = True
    for a in range(fanout.size):
        used = 1
        for i in range(g + 1):
            used *= instances[i, chosen[i], a]
        fits &= used <= fanout[a]
    return fits


@inlined
def used_enough(rounds: Any, most_rounds: Any, chosen: Any) -> bool:
    """Whether axes that must be used as far as can be are."""
    enough = True
    for a in range(most_rounds.size):
        needed = 1
        for g in range(rounds.shape[0]):
            needed *= rounds[g, chosen[g], a]
        enough &= needed <= most_rounds[a]
    return enough


@allocating
def _splits(problem: Problem, chosen: Any) -> bool:
    """Whether the spreads on axes that stand for two can be factored over both."""
    groups = problem.options.size
    shares, parts = np.empty(2 * groups, np.int64), np.empty(2 * groups, np.int64)
    for a in range(problem.fanout.size):
        if problem.pairs[a, 0] == 0:
            continue
        for g in range(groups):
            shares[2 * g], shares[2 * g + 1] = problem.shares[g, chosen[g], 0, a], problem.shares[g, chosen[g], 1, a]
        if not splits(shares, problem.pairs[a, 0], problem.pairs[a, 1], problem.kind == DIVISORS, parts):
            return False
    return True


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
        if progress[EVALUATED] > limit:
            return i, OVER
        rows = 1
        for g in range(groups):
            at[g] = shelf.where[problem.twin[g], arrays.shape[t, g], int(choices[i, 3 + g])]
            if at[g] < 0:
                return i, g
            rows *= shelf.place[at[g], 1]
        progress[OPENED] += 1
        if rows:
            form = form_of(arrays, t, shelf, at)
            _join(arrays, problem, t, form, choices[i], shelf, at, best, winner, progress)
    return choices.shape[0], DONE


@allocating
def _join(
    arrays: Any,
    problem: Problem,
    t: int,
    form: Form,
    choice: Any,
    shelf: Shelf,
    tabled: Any,
    best: Any,
    winner: Any,
    progress: Any,
) -> None:
    groups = tabled.size
    order = np.argsort(-shelf.place[tabled, 1], kind="mergesort")
    rows = shelf.place[tabled, 1][order]
    own, bounded = _local(arrays, t, form, shelf, tabled, order, rows)
    columns = form.columns.size
    product, bound = np.ones((groups + 1, columns)), np.ones(columns + 1)
    at = np.full(groups, -1, np.int64)
    key = np.empty(3)
    weights = (arrays.leak_w, arrays.fixed_j, problem.energy_power, problem.delay_power)
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
        if not _fits(form.room, form.bits, arrays.size_bits, bound):
            continue
        _fill_key(form.energy, form.times, bound, weights, key)
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


@inlined
def _fits(room: Any, bits: Any, size_bits: Any, bound: Any) -> bool:
    """Whether tiles have room; those of a memory come one after the other."""
    held, memory = 0.0, -1
    fits = True
    for i in range(bits.size):
        if room[i, 0] != memory:
            held, memory = 0.0, room[i, 0]
        held += bound[room[i, 1]] * bits[i]
        if held > size_bits[memory] * FIT:
            fits = False
            break
    return fits


@inlined
def _fill_key(energy: Any, times: Any, bound: Any, weights: tuple[float, float, float, float], key: Any) -> None:
    """``key`` from the columns of a form (1 after them)."""
    joules, latency = 0.0, 0.0
    for c in range(bound.size):
        joules += energy[c] * bound[c]
    for f in range(times.shape[0]):
        seconds = 0.0
        for c in range(bound.size):
            seconds += times[f, c] * bound[c]
        latency = max(latency, seconds)
    joules += weights[0] * latency + weights[1]
    key[0] = _power(joules, weights[2]) * _power(latency, weights[3])
    key[1], key[2] = latency, joules
