"""Which tilings of each dim may be part of something better, before any is tabulated. Compiled.

The ranges of a dim's tiles are halved; a half whose least figures are not better than the best, with the least of all
other groups, is dropped. What is left is single tilings, few once something good is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import entry, inlined, njit
from archsim.base.words import WordTable
from mapper.looptree.search.branch.bounds import Problem, fill_least, room_of
from mapper.looptree.search.branch.keys import fill_bound, fits, is_better
from mapper.looptree.search.branch.least import Parts, combine, fill_parts, parts_of, set_parts
from mapper.looptree.search.branch.plan import MOST_DIMS, MOST_LOOPS
from mapper.looptree.search.branch.ranges import tighten
from mapper.looptree.search.branch.rows import fill, put, put_pair, sort_by
from mapper.looptree.search.branch.tilings import ANY, count_loops, kind_of

NONE, SOME, TOO_MANY, NO_ROOM = range(4)  # what is left of a choice
_FIRST_ROOM = 64  # tilings of a dim
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
    """A dim ``d`` of group ``g`` in template ``t`` under option ``o``."""

    t: int
    g: int
    d: int
    o: int


class Ranges(NamedTuple):
    """Room to halve in, written over. ``parts`` of a group; ``tiles`` (G, 2, 2, loops): the ranges of each group, and
    ``least`` (G, C) its figures; ``rest`` (C): of all groups but one; ``order`` (2, G): of groups; ``stack`` (_DEEP, 2,
    loops): halves of a dim that wait; ``both`` (2, 2, loops): ranges of a group; ``own`` and ``low`` (C): figures of a
    half, and the least of those kept; ``bound`` (C + K) and ``key`` (3).
    """

    parts: Parts
    tiles: Any
    least: Any
    rest: Any
    order: Any
    stack: Any
    both: Any
    own: Any
    low: Any
    bound: Any
    key: Any


def ranges_of(arrays: Any) -> Ranges:
    """Room for the groups of any template."""
    groups, columns = arrays.shape.shape[1], arrays.factors.shape[2]
    return Ranges(
        parts_of(columns),
        np.empty((groups, MOST_DIMS, 2, MOST_LOOPS), np.int64),
        np.empty((groups, columns)),
        np.empty(int(arrays.columns.max())),
        np.empty((2, groups), np.int64),
        np.empty((_DEEP, 2, MOST_LOOPS), np.int64),
        np.empty((MOST_DIMS, 2, MOST_LOOPS), np.int64),
        np.empty(columns),
        np.empty(columns),
        np.empty(room_of(arrays)),
        np.empty(3),
    )


def narrow(
    arrays: WordTable, problem: WordTable, t: int, choice: Any, best: Any, most: int, progress: Any, ranges: WordTable
) -> Left:
    """Tilings under a choice that may be better than ``best``; TOO_MANY after ``most`` halves of a dim.

    ``arrays``: those of a plan, in tables as the ``problem`` and the ``ranges``, which are written over.
    """
    groups, room, before = arrays.value.shape.shape[1], _FIRST_ROOM, progress.copy()
    many, whole = np.empty((groups, MOST_DIMS), np.int64), np.empty(groups)
    while True:
        found = Left(NO_ROOM, many, np.empty((groups, MOST_DIMS, room, MOST_LOOPS), np.int64), whole)
        why = fill_left(arrays, problem, t, choice, best, most, progress, ranges, found)
        if why != NO_ROOM:
            return found._replace(why=why)
        progress[:] = before
        room *= 4


@entry
@njit
def fill_left(
    arrays: Any,
    problem: Any,
    t: int,
    choice: Any,
    best: Any,
    most: int,
    progress: Any,
    ranges: Any,
    found: Left,
) -> int:
    """Fill ``found`` and say why; NO_ROOM where it has too few rows."""
    tiles, least, whole = ranges.tiles, ranges.least, found.whole
    for g in range(whole.size):
        s = arrays.shape[t, g]
        found.many[g, 0] = found.many[g, 1] = -1
        set_parts(ranges.parts, arrays.factors[g, s], arrays.sizes[g, s])
        if not fill_least(arrays, problem, g, s, int(choice[3 + g]), ranges.parts, tiles[g], least[g]):
            return NONE
        whole[g] = _whole(arrays, problem, g, s, tiles[g])
        ranges.order[0, g] = g
    why = SOME
    sort_by(whole, ranges.order[0], ranges.order[1])
    for i in range(whole.size):
        g = ranges.order[0, i]
        _rest(arrays, t, least, g, ranges.rest[: arrays.columns[t]])
        for d in range(MOST_DIMS):
            if count_loops(arrays.loops[g, arrays.shape[t, g], d]) == 0:
                continue
            place = _Place(t, g, d, int(choice[3 + g]))
            one, found.many[g, d] = _halve(arrays, problem, place, ranges, found.tiles[g, d], best, most, progress)
            if one in (NONE, NO_ROOM):
                return one
            why = max(why, one)
    return why


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
    fill(rest, 1.0)
    for g in range(least.shape[0]):
        if g != but:
            for c in range(rest.size):
                rest[c] *= least[g, arrays.column[t, g, c]]


@njit
def _halve(
    arrays: Any, problem: Problem, place: _Place, ranges: Ranges, found: Any, best: Any, most: int, progress: Any
) -> tuple[int, int]:
    """Put what is left of a dim into ``found``, its least figures into ``ranges``: why, and how many."""
    t, g, d = place.t, place.g, place.d
    s, tiles = arrays.shape[t, g], ranges.tiles[g]
    loops, extent, shares = arrays.loops[g, s, d], problem.extents[g, d], problem.shares[g, place.o, d]
    every = kind_of(extent, problem.kind, problem.every) == ANY
    depth, columns = count_loops(loops), arrays.sizes[g, s]
    factors, parts, other = arrays.factors[g, s], ranges.parts, 1 - d
    set_parts(parts, factors, columns)
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
    own, low, stack, both = ranges.own, ranges.low, ranges.stack, ranges.both
    fill(low, np.inf)
    put_pair(both[other], tiles[other])
    put_pair(stack[0], tiles[d])
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
        if not _may_be(arrays, problem, place, ranges, best):
            continue
        loop = _widest(both[d], depth)
        if not every and (loop < 0 or tried > _ASKED):
            return SOME, -1
        if loop < 0:
            if count == found.shape[0]:
                return NO_ROOM, -1
            put(found[count, :depth], both[d, 0])
            count += 1
            for c in range(columns):
                low[c] = min(low[c], own[c])
            continue
        if tried > most:
            return TOO_MANY, -1
        middle = int(np.sqrt(both[d, 0, loop] * both[d, 1, loop]))
        put_pair(stack[top + 1], both[d])
        put_pair(stack[top + 2], both[d])
        stack[top + 1, 0, loop] = middle + 1
        stack[top + 2, 1, loop] = middle
        top += 2
    put(ranges.least[g], low)
    return (SOME if count else NONE), count


@inlined
def _may_be(arrays: Any, problem: Problem, place: _Place, ranges: Ranges, best: Any) -> bool:
    """Whether the least figures of a half with those of the other groups may be better."""
    t, g, columns, key = place.t, place.g, arrays.columns[place.t], ranges.key
    bound = ranges.bound[: columns + arrays.terms_of[t]]
    for c in range(columns):
        bound[c] = ranges.rest[c] * ranges.own[arrays.column[t, g, c]]
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
