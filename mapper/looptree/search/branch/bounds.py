"""Bounds of templates and of spatial choices, before any tiling is looked at. Compiled.

A figure of a partial choice is bounded from below by the product of what is chosen and the least of every group that
is not; so are energy, each part's time, and the room that tiles need.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import entry, inlined, njit
from archsim.base.words import WordTable
from mapper.looptree.search.branch.axes import splits
from mapper.looptree.search.branch.keys import fill_bound, fits, is_better
from mapper.looptree.search.branch.least import Parts, combine, fill_parts, parts_of, set_parts
from mapper.looptree.search.branch.plan import MOST_DIMS, MOST_LOOPS
from mapper.looptree.search.branch.ranges import ranges
from mapper.looptree.search.branch.rows import fill, put
from mapper.looptree.search.branch.tilings import ANY

_FIRST_ROOM = 1024  # choices


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


class LowerBounds:
    """Lower bounds of the templates of a plan, from ``arrays`` and ``problem`` in tables.

    ``least`` (G, S, O, C): those of every factor of every shape under every option; infinite where it has no tiling.
    """

    def __init__(self, arrays: WordTable, problem: WordTable) -> None:
        self._arrays, self._problem = arrays, problem
        groups, shapes, most = arrays.value.factors.shape[:3]
        self._spread = WordTable(_spread(arrays.value, problem.value))
        self.least = np.empty((groups, shapes, problem.value.shares.shape[1], most))
        tiles = np.empty((MOST_DIMS, 2, MOST_LOOPS), np.int64)
        fill_all_least(arrays, problem, parts_of(most), tiles, self.least)

    def of_templates(self) -> Any:
        """(T, 3) a lower bound of the key of each template; infinite where nothing fits."""
        found = np.full((self._arrays.value.shape.shape[0], 3), np.inf)
        fill_bounds(self._arrays, self._problem, self.least, np.empty(room_of(self._arrays.value)), found)
        return found

    def of_choices(self, t: int, best: Any) -> Any:
        """(choices, 3 + G) keys that bound outline ``t`` under each choice of options that may beat ``best``.

        Of groups that are the same to the costs the first has the least option: an outline is its own mirror image.
        """
        given = self._arrays, self._problem, self.least, t, best, self._spread
        found = np.empty((_FIRST_ROOM, 3 + self._arrays.value.shape.shape[1]))
        count = fill_spatial(*given, found)
        if count > len(found):
            found = np.empty((count, found.shape[1]))
            fill_spatial(*given, found)
        return found[:count].copy()


@entry
@njit
def fill_all_least(arrays: Any, problem: Any, parts: Parts, tiles: Any, found: Any) -> None:
    """Fill ``found`` with the lower bounds; ``parts`` and ``tiles`` are written over."""
    for g in range(found.shape[0]):
        for s in range(found.shape[1]):
            set_parts(parts, arrays.factors[g, s], arrays.sizes[g, s])
            for o in range(problem.options[g] if arrays.sizes[g, s] else 0):
                fill_least(arrays, problem, g, s, o, parts, tiles, found[g, s, o])


@njit
def fill_least(arrays: Any, problem: Problem, g: int, s: int, o: int, parts: Parts, tiles: Any, found: Any) -> bool:
    """Fill the ranges of ``tiles`` and the lower bounds of a shape under an option; whether it has any tiling."""
    factors, columns, loops = arrays.factors[g, s], arrays.sizes[g, s], arrays.loops[g, s]
    extents, shares, kind = problem.extents[g], problem.shares[g, o], problem.kind
    for d in range(MOST_DIMS):
        limits = arrays.limits[g, s]
        if not ranges(factors, limits, columns, d, loops[d], extents[d], shares[d], kind, tiles[d]):
            fill(found[:columns], np.inf)
            return False
        fill_parts(parts, factors, columns, d, loops[d], extents[d], shares[d], kind, tiles[d])
    combine(parts, factors, columns, loops, shares, arrays.spans, found)
    return True


def room_of(arrays: Any) -> int:
    """The most columns and terms that a template has."""
    return int((arrays.columns + arrays.terms_of).max())


@entry
@njit
def fill_bounds(arrays: Any, problem: Any, least: Any, room: Any, found: Any) -> None:
    """Put the bounds of templates in which something fits into ``found``; ``room`` is written over."""
    weights = (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
    for t in range(arrays.shape.shape[0]):
        rooms, terms = arrays.rooms_of[t], arrays.terms_of[t]
        product = room[: arrays.columns[t] + terms]
        fill(product, 1.0)
        for g in range(arrays.shape.shape[1]):
            s = arrays.shape[t, g]
            for c in range(arrays.columns[t]):
                column = arrays.column[t, g, c]
                low = np.inf
                for o in range(problem.options[g]):
                    low = min(low, least[g, s, o, column])
                product[c] *= low
        if is_finite(product) and fits(arrays.room[t, :rooms], arrays.bits[t, :rooms], arrays.size_bits, product):
            times = arrays.times[t, : arrays.times_of[t]]
            fill_bound(arrays.terms[t, :terms], arrays.energy[t], times, product, weights, found[t])


@inlined
def is_finite(values: Any) -> bool:
    """Whether all are less than infinite."""
    finite = True
    for i in range(values.size):
        finite &= values[i] < np.inf
    return finite


class Spread(NamedTuple):
    """Room for a choice of options while it is made. ``chosen`` (G + 1): options; ``product`` (G + 1, C): least figures
    of the groups before; ``factors`` (G, O, C): those of a group under each option; ``low`` (G + 1, C): the least of a
    group and those behind; ``key`` (3) and ``bound`` (C + K); ``shares`` and ``parts`` (2 G), ``taken`` (2, 2 G + 1):
    how axes that stand for two are split.
    """

    chosen: Any
    product: Any
    factors: Any
    low: Any
    key: Any
    bound: Any
    shares: Any
    parts: Any
    taken: Any


def _spread(arrays: Any, problem: Problem) -> Spread:
    groups, columns = arrays.shape.shape[1], int(arrays.columns.max())
    return Spread(
        np.empty(groups + 1, np.int64),
        np.empty((groups + 1, columns)),
        np.empty((groups, int(problem.options.max()), columns)),
        np.empty((groups + 1, columns)),
        np.empty(3),
        np.empty(room_of(arrays)),
        np.empty(2 * groups, np.int64),
        np.empty(2 * groups, np.int64),
        np.empty((2, 2 * groups + 1), np.int64),
    )


@entry
@njit
def fill_spatial(arrays: Any, problem: Any, least: Any, t: int, best: Any, spread: Any, found: Any) -> int:
    """Fill ``found`` with as many choices as it has rows; how many there are."""
    groups, columns, count = arrays.shape.shape[1], arrays.columns[t], 0
    product, chosen, factors, low = spread.product, spread.chosen, spread.factors, spread.low
    fill(product[0], 1.0)
    fill(chosen, -1)
    terms, energy = arrays.terms[t, : arrays.terms_of[t]], arrays.energy[t]
    times = arrays.times[t, : arrays.times_of[t]]
    room, bits = arrays.room[t, : arrays.rooms_of[t]], arrays.bits[t, : arrays.rooms_of[t]]
    weights = (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
    key, bound = spread.key, spread.bound[: columns + terms.shape[0]]
    _fill_template(arrays, problem, least, t, factors)
    _fill_suffix(factors, problem.options, columns, low)
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
        if not used_enough(problem.rounds, problem.most_rounds, chosen) or not _splits(problem, spread):
            continue
        if count < found.shape[0]:
            put(found[count, :3], key)
            put(found[count, 3:], chosen)
        count += 1
    return count


def in_order(rows: Any) -> Any:
    """Rows by their keys, ties as they come."""
    return rows[np.lexsort(rows[:, 2::-1].T)]


@inlined
def _fill_template(arrays: Any, problem: Problem, least: Any, t: int, found: Any) -> None:
    """(G, options, columns) lower bounds of the columns of a template."""
    for g in range(found.shape[0]):
        for o in range(problem.options[g]):
            for c in range(arrays.columns[t]):
                found[g, o, c] = least[g, arrays.shape[t, g], o, arrays.column[t, g, c]]


@inlined
def _fill_suffix(factors: Any, options: Any, columns: int, low: Any) -> None:
    """(G + 1, columns) the least product of groups g, g + 1, ... over their options."""
    groups = factors.shape[0]
    fill(low[groups], 1.0)
    for g in range(groups - 1, -1, -1):
        for c in range(columns):
            least = np.inf
            for o in range(options[g]):
                least = min(least, factors[g, o, c])
            low[g, c] = low[g + 1, c] * least


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


@njit
def _splits(problem: Problem, spread: Spread) -> bool:
    """Whether the spreads on axes that stand for two can be factored over both."""
    groups, shares, chosen = problem.options.size, spread.shares, spread.chosen
    exact = problem.kind != ANY
    for a in range(problem.fanout.size):
        if problem.pairs[a, 0] == 0:
            continue
        for g in range(groups):
            shares[2 * g], shares[2 * g + 1] = problem.shares[g, chosen[g], 0, a], problem.shares[g, chosen[g], 1, a]
        if not splits(shares, problem.pairs[a, 0], problem.pairs[a, 1], exact, spread.parts, spread.taken):
            return False
    return True
