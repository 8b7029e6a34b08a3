"""How many LoopTrees the templates of a space stand for. Compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import entry, njit
from mapper.looptree.search.branch.bounds import Problem, fits_axes, used_enough
from mapper.looptree.search.branch.plan import MOST_DIMS, MOST_LOOPS
from mapper.looptree.search.branch.rows import fill
from mapper.looptree.search.branch.tilings import (
    ANY,
    EQUAL,
    Levels,
    fill_tilings,
    kind_of,
    levels_of,
    spread_below,
    temporal_from,
)


class CountedPoints(NamedTuple):
    """Room to count in. ``counts`` (G, S, O): tilings of a shape under an option; ``ways`` (G + 1) and ``chosen`` (G):
    of the groups before, ``none`` (0, MOST_LOOPS): tilings, which are not kept.
    """

    counts: Any
    ways: Any
    chosen: Any
    levels: Levels
    none: Any


def space_size(arrays: Any, problem: Problem) -> float:
    """Tilings x spatial choices x templates (a float: it may be beyond 64 bits)."""
    groups, shapes = arrays.factors.shape[:2]
    largest = int(problem.extents.max())
    rooms = levels_of(min(largest, problem.every), problem.kind), levels_of(largest, EQUAL)
    counted = CountedPoints(
        np.zeros((groups, shapes, problem.shares.shape[1])),
        np.empty(groups + 1),
        np.empty(groups, np.int64),
        max(rooms, key=lambda levels: int(levels.choices.shape[1])),
        np.empty((0, MOST_LOOPS), np.int64),
    )
    return float(count_all(arrays, problem, counted))


@entry
@njit
def count_all(arrays: Any, problem: Problem, counted: CountedPoints) -> float:
    """How many there are in all."""
    counts = counted.counts
    for g in range(counts.shape[0]):
        for s in range(counts.shape[1]):
            for o in range(problem.options[g] if arrays.sizes[g, s] else 0):
                counts[g, s, o] = 1.0
                for d in range(MOST_DIMS):
                    counts[g, s, o] *= _tilings(arrays.loops[g, s, d], problem, g, o, d, counted)
    total = 0.0
    for t in range(arrays.shape.shape[0]):
        total += _of_template(arrays, problem, counted, t)
    return total


@njit
def _tilings(loops: Any, problem: Problem, g: int, o: int, d: int, counted: CountedPoints) -> float:
    extent, shares, kind = problem.extents[g, d], problem.shares[g, o, d], problem.kind
    if kind == ANY:
        tried = kind_of(extent, kind, problem.every)
        return float(fill_tilings(loops, extent, shares, tried, counted.levels, counted.none))
    rounds = -(-extent // spread_below(loops, shares, 0))
    places = temporal_from(loops, 0)
    if places == 0:
        return 1.0 if rounds == 1 else 0.0
    ways, prime = 1.0, 2
    while rounds > 1:
        power = 0
        while rounds % prime == 0:
            rounds //= prime
            power += 1
            ways *= (places - 1 + power) / power
        prime += 1
    return float(np.round(ways))


@njit
def _of_template(arrays: Any, problem: Problem, counted: CountedPoints, t: int) -> float:
    groups, counts, ways, chosen = arrays.shape.shape[1], counted.counts, counted.ways, counted.chosen
    fill(chosen, -1)
    ways[0] = 1.0
    total, g = 0.0, 0
    while g >= 0:
        chosen[g] += 1
        if chosen[g] >= problem.options[g]:
            chosen[g] = -1
            g -= 1
            continue
        ways[g + 1] = ways[g] * counts[g, arrays.shape[t, g], chosen[g]]
        if ways[g + 1] == 0.0 or not fits_axes(problem.instances, problem.fanout, chosen, g):
            continue
        if g + 1 < groups:
            g += 1
        elif used_enough(problem.rounds, problem.most_rounds, chosen):
            total += ways[g + 1]
    return total
