"""How many LoopTrees the templates of a space stand for. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.jit import allocating, entry
from mapper.looptree.search.branch.bounds import Problem, fits_axes, used_enough
from mapper.looptree.search.branch.tilings import ANY, kind_of, spread_below, temporal_from, tilings


@entry
@allocating
def space_size(arrays: Any, problem: Problem) -> float:
    """Tilings x spatial choices x templates (a float: it may be beyond 64 bits)."""
    groups, shapes = arrays.factors.shape[:2]
    counts = np.zeros((groups, shapes, problem.shares.shape[1]))
    for g in range(groups):
        for s in range(shapes):
            for o in range(problem.options[g] if arrays.sizes[g, s] else 0):
                counts[g, s, o] = 1.0
                for d in range(2):
                    loops, shares = arrays.loops[g, s, d], problem.shares[g, o, d]
                    counts[g, s, o] *= _tilings(loops, problem.extents[g, d], shares, problem.kind, problem.every)
    total = 0.0
    for t in range(arrays.shape.shape[0]):
        total += _of_template(arrays, problem, counts, t)
    return total


@allocating
def _tilings(loops: Any, extent: int, shares: Any, kind: int, every: int) -> float:
    if kind == ANY:
        return float(tilings(loops, extent, shares, kind_of(extent, kind, every)).shape[0])
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


@allocating
def _of_template(arrays: Any, problem: Problem, counts: Any, t: int) -> float:
    groups = arrays.shape.shape[1]
    ways = np.ones(groups + 1)
    chosen = np.full(groups, -1, np.int64)
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
