"""Bounds of templates and of spatial choices, before any tiling is looked at. Compiled.

A figure of a partial choice is bounded from below by the product of what is chosen and the least of every group that
is not; so are energy, each part's time, and the room that tiles need.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import allocating, entry, inlined
from mapper.looptree.search.branch.axes import splits
from mapper.looptree.search.branch.keys import fill_bound, fits, is_better
from mapper.looptree.search.branch.least import Parts, combine, fill_parts, parts_of
from mapper.looptree.search.branch.plan import MOST_DIMS, MOST_LOOPS
from mapper.looptree.search.branch.ranges import ranges
from mapper.looptree.search.branch.rows import doubled, put
from mapper.looptree.search.branch.tilings import ANY


class Problem(NamedTuple):
    """G groups, O options of a group, A axes. ``extents`` (G, 2); ``shares`` (G, O, 2, A), ``options`` (G) how many.

    ``instances`` (G, O, A): trips on each axis, of which the product over groups is at most ``fanout`` (A);
    ``pairs`` (A, 2): the fan-outs of two axes that are searched as one, or 0; ``rounds`` (G, O, A), of which it is at
    most ``most_rounds`` (A). ``twin`` (G): the first group with the same shapes, extents and options.
    ``every``: the largest extent of which every tiling is tried.
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
    every: int
    energypower: float
    delaypower: float


@entry
@allocating
def all_least(arrays: Any, problem: Problem) -> Any:
    """(G, S, O, C) lower bounds of every factor of every shape under every option; infinite where it has no tiling."""
    groups, shapes, most = arrays.factors.shape[:3]
    found = np.empty((groups, shapes, problem.shares.shape[1], most))
    tiles = np.empty((MOST_DIMS, 2, MOST_LOOPS), np.int64)
    for g in range(groups):
        for s in range(shapes):
            parts = parts_of(arrays.factors[g, s], arrays.sizes[g, s])
            for o in range(problem.options[g] if arrays.sizes[g, s] else 0):
                fill_least(arrays, problem, g, s, o, parts, tiles, found[g, s, o])
    return found


@allocating
def fill_least(arrays: Any, problem: Problem, g: int, s: int, o: int, parts: Parts, tiles: Any, found: Any) -> bool:
    """Fill the ranges of ``tiles`` and the lower bounds of a shape under an option; whether it has any tiling."""
    factors, columns, loops = arrays.factors[g, s], arrays.sizes[g, s], arrays.loops[g, s]
    extents, shares, kind = problem.extents[g], problem.shares[g, o], problem.kind
    for d in range(MOST_DIMS):
        limits = arrays.limits[g, s]
        if not ranges(factors, limits, columns, d, loops[d], extents[d], shares[d], kind, tiles[d]):
            found[:columns] = np.inf
            return False
        fill_parts(parts, factors, columns, d, loops[d], extents[d], shares[d], kind, tiles[d])
    combine(parts, factors, columns, loops, shares, arrays.spans, found)
    return True


@entry
@allocating
def bounds(arrays: Any, problem: Problem, least: Any) -> Any:
    """(T, 3) a lower bound of the key of each template; infinite where nothing fits."""
    total, groups = arrays.shape.shape
    found = np.full((total, 3), np.inf)
    weights = (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
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
        if fits(arrays.room[t, :rooms], arrays.bits[t, :rooms], arrays.size_bits, product):
            times = arrays.times[t, : arrays.times_of[t]]
            fill_bound(arrays.terms[t, :terms], arrays.energy[t], times, product, weights, found[t])
    return found


@entry
@allocating
def spatial(arrays: Any, problem: Problem, least: Any, t: int, best: Any) -> Any:
    """(choices, 3 + G) keys that bound outline ``t`` under each choice of options that may beat ``best``.

    Of groups that are the same to the costs the first has the least option: an outline is its own mirror image.
    """
    groups, columns = arrays.shape.shape[1], arrays.columns[t]
    found = np.empty((64, 3 + groups))
    count = 0
    product = np.ones((groups + 1, columns))
    chosen = np.full(groups + 1, -1, np.int64)
    terms, energy = arrays.terms[t, : arrays.terms_of[t]], arrays.energy[t]
    times = arrays.times[t, : arrays.times_of[t]]
    room, bits = arrays.room[t, : arrays.rooms_of[t]], arrays.bits[t, : arrays.rooms_of[t]]
    weights = (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
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
        if chosen[g] < chosen[problem.twin[g]] or not fits_axes(problem.instances, problem.fanout, chosen, g):
            continue
        for c in range(columns):
            product[g + 1, c] = product[g, c] * factors[g, chosen[g], c]
            bound[c] = product[g + 1, c] * low[g + 1, c]
        if not bound[0] < np.inf or not fits(room, bits, arrays.size_bits, bound):
            continue
        fill_bound(terms, energy, times, bound, weights, key)
        if not is_better(key, best):
            continue
        if g + 1 < groups:
            g += 1
            continue
        if not used_enough(problem.rounds, problem.most_rounds, chosen) or not _splits(problem, chosen):
            continue
        if count == found.shape[0]:
            found = doubled(found)
        put(found[count, :3], key)
        put(found[count, 3:], chosen)
        count += 1
    return found[:count]


def in_order(rows: Any) -> Any:
    """Rows by their keys, ties as they come."""
    return rows[np.lexsort(rows[:, 2::-1].T)]


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
        if not splits(shares, problem.pairs[a, 0], problem.pairs[a, 1], problem.kind != ANY, parts):
            return False
    return True
