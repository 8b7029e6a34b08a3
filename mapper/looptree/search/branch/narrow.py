"""Which tilings of each dim may be part of something better, before any is tabulated. Compiled.

The ranges of a dim's tiles are halved; a half whose least figures are not better than the best, with the least of all
other groups, is dropped. What is left is single tilings, few once something good is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import allocating, entry, inlined
from mapper.looptree.search.branch.bounds import Problem, fill_least
from mapper.looptree.search.branch.keys import fill_bound, fits, is_better
from mapper.looptree.search.branch.least import combine, fill_parts, parts_of
from mapper.looptree.search.branch.plan import MOST_DIMS, MOST_LOOPS
from mapper.looptree.search.branch.ranges import tighten
from mapper.looptree.search.branch.rows import put, put_pair
from mapper.looptree.search.branch.tilings import ANY, count_loops, kind_of

NONE, SOME, TOO_MANY = range(3)  # what is left of a choice
_ASKED = 48  # halves of a dim of which only some tilings are tried: whether any may be better
_DEEP = 1024  # halves that wait


class Left(NamedTuple):
    """``why``: what is left of a choice. ``many`` (G, 2): tilings of each dim that may be better, -1: any of them;
    ``tiles`` (G, 2, most, loops); ``whole`` (G): at least as many tilings as each group has.
    """

    why: int
    many: Any
    tiles: Any
    whole: Any


class _Place(NamedTuple):
    """A dim ``d`` of group ``g`` in template ``t`` under option ``o``; ``rest``: the least of the other groups."""

    t: int
    g: int
    d: int
    o: int
    rest: Any


@entry
@allocating
def narrow(arrays: Any, problem: Problem, t: int, choice: Any, best: Any, most: int, progress: Any) -> Left:
    """Tilings under a choice that may be better than ``best``; TOO_MANY after ``most`` halves of a dim."""
    groups, columns = arrays.shape.shape[1], arrays.columns[t]
    many = np.full((groups, MOST_DIMS), -1, np.int64)
    found = np.empty((groups, MOST_DIMS, 8, MOST_LOOPS), np.int64)
    tiles = np.empty((groups, MOST_DIMS, 2, MOST_LOOPS), np.int64)
    least = np.empty((groups, arrays.factors.shape[2]))
    rest, whole = np.empty(columns), np.empty(groups)
    for g in range(groups):
        s = arrays.shape[t, g]
        parts = parts_of(arrays.factors[g, s], arrays.sizes[g, s])
        if not fill_least(arrays, problem, g, s, int(choice[3 + g]), parts, tiles[g], least[g]):
            return Left(NONE, many, found, whole)
        whole[g] = _whole(arrays, problem, g, s, tiles[g])
    why = SOME
    for g in np.argsort(whole, kind="mergesort"):
        _rest(arrays, t, least, g, rest)
        for d in range(MOST_DIMS):
            if count_loops(arrays.loops[g, arrays.shape[t, g], d]) == 0:
                continue
            place = _Place(t, g, d, int(choice[3 + g]), rest)
            one, many[g, d], found = _halve(arrays, problem, place, tiles[g], found, best, least[g], most, progress)
            if one == NONE:
                return Left(NONE, many, found, whole)
            why = max(why, one)
    return Left(why, many, found, whole)


@inlined
def _whole(arrays: Any, problem: Problem, g: int, s: int, tiles: Any) -> float:
    """At least as many tilings as a group has in dims of which every one is tried."""
    ways = 1.0
    for d in range(MOST_DIMS):
        if kind_of(problem.extents[g, d], problem.kind, problem.every) == ANY:
            for i in range(count_loops(arrays.loops[g, s, d])):
                ways *= tiles[d, 1, i] - tiles[d, 0, i] + 1
    return ways


@inlined
def _rest(arrays: Any, t: int, least: Any, but: int, rest: Any) -> None:
    """The product of the least of all groups but one."""
    rest[:] = 1.0
    for g in range(least.shape[0]):
        if g != but:
            for c in range(rest.size):
                rest[c] *= least[g, arrays.column[t, g, c]]


@allocating
def _halve(
    arrays: Any,
    problem: Problem,
    place: _Place,
    tiles: Any,
    found: Any,
    best: Any,
    least: Any,
    most: int,
    progress: Any,
) -> tuple[int, int, Any]:
    """Put what is left of a dim into ``found``, its least figures into ``least``: NONE, SOME or TOO_MANY, how many."""
    t, g, d, rest = place.t, place.g, place.d, place.rest
    s = arrays.shape[t, g]
    loops, extent, shares = arrays.loops[g, s, d], problem.extents[g, d], problem.shares[g, place.o, d]
    every = kind_of(extent, problem.kind, problem.every) == ANY
    depth, columns = count_loops(loops), arrays.sizes[g, s]
    factors, parts = arrays.factors[g, s], parts_of(arrays.factors[g, s], columns)
    other = 1 - d
    fill_parts(
        parts,
        factors,
        columns,
        other,
        arrays.loops[g, s, other],
        problem.extents[g, other],
        problem.shares[g, place.o, other],
        problem.kind,
        tiles[other],
    )
    own, low = np.empty(least.size), np.full(least.size, np.inf)
    stack, both = np.empty((_DEEP, 2, MOST_LOOPS), np.int64), tiles.copy()
    put_pair(stack[0], tiles[d])
    terms = arrays.terms[t, : arrays.terms_of[t]]
    bound, key = np.empty(rest.size + terms.shape[0]), np.empty(3)
    top, count, tried = 0, 0, 0
    while top >= 0:
        put_pair(both[d], stack[top])
        top -= 1
        if not tighten(loops, extent, shares, problem.kind, both[d]):
            continue
        tried += 1
        progress[0] += 1
        fill_parts(parts, factors, columns, d, loops, extent, shares, problem.kind, both[d])
        combine(parts, factors, columns, arrays.loops[g, s], problem.shares[g, place.o], arrays.spans, own)
        if not _may_be(arrays, problem, place, own, bound, key, best):
            continue
        loop = _widest(both[d], depth)
        if not every and (loop < 0 or tried > _ASKED):
            return SOME, -1, found
        if loop < 0:
            if count == found.shape[2]:
                found = _longer(found)
            put(found[g, d, count, :depth], both[d, 0])
            count += 1
            for c in range(columns):
                low[c] = min(low[c], own[c])
            continue
        if tried > most:
            return TOO_MANY, -1, found
        middle = int(np.sqrt(both[d, 0, loop] * both[d, 1, loop]))
        put_pair(stack[top + 1], both[d])
        put_pair(stack[top + 2], both[d])
        stack[top + 1, 0, loop] = middle + 1
        stack[top + 2, 1, loop] = middle
        top += 2
    put(least, low)
    return (SOME if count else NONE), count, found


@allocating
def _longer(found: Any) -> Any:
    """With room for twice as many tilings."""
    groups, dims, many, depth = found.shape
    longer = np.empty((groups, dims, 2 * many, depth), np.int64)
    for g in range(groups):
        for d in range(dims):
            for i in range(many):
                put(longer[g, d, i], found[g, d, i])
    return longer


@inlined
def _may_be(arrays: Any, problem: Problem, place: _Place, own: Any, bound: Any, key: Any, best: Any) -> bool:
    """Whether the least figures of a group with those of the others may be better."""
    t, g = place.t, place.g
    for c in range(place.rest.size):
        bound[c] = place.rest[c] * own[arrays.column[t, g, c]]
    may_be = fits(arrays.room[t, : arrays.rooms_of[t]], arrays.bits[t, : arrays.rooms_of[t]], arrays.size_bits, bound)
    if may_be:
        weights = (arrays.leak_w, arrays.fixed_j, problem.energypower, problem.delaypower)
        terms, times = arrays.terms[t, : arrays.terms_of[t]], arrays.times[t, : arrays.times_of[t]]
        fill_bound(terms, arrays.energy[t], times, bound, weights, key)
        may_be = is_better(key, best)
    return may_be


@inlined
def _widest(tiles: Any, depth: int) -> int:
    """The loop whose tile is known least; -1 when all are known."""
    loop = -1
    for i in range(depth):
        if tiles[0, i] < tiles[1, i] and (loop < 0 or tiles[1, i] * tiles[0, loop] > tiles[1, loop] * tiles[0, i]):
            loop = i
    return loop
