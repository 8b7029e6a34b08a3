"""The best LoopTree of a space, proven: branch and bound over templates, fan-outs and tilings.

Space: all node orders with the loops that are worth having between them (search/branch/templates), every way to
spread dims over the fan-outs, every tiling. A template and a spatial choice are bounded before their tilings are
tabulated; they are opened in the order of their bounds until none can be better than what was found.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from archsim.errors import MappingError
from mapper.looptree.cost import evaluate
from mapper.looptree.nest import Nest
from mapper.looptree.search.branch.axes import apart, joined
from mapper.looptree.search.branch.bounds import all_least, bounds, spatial
from mapper.looptree.search.branch.columns import border
from mapper.looptree.search.branch.join import DONE, EVALUATED, OVER, solve
from mapper.looptree.search.branch.keys import is_better
from mapper.looptree.search.branch.nodes import nodes_of
from mapper.looptree.search.branch.plan import Plan, plan
from mapper.looptree.search.branch.problem import is_symmetric, problem_of
from mapper.looptree.search.branch.size import space_size
from mapper.looptree.search.branch.store import Store, read
from mapper.looptree.search.branch.tilings import tilings
from mapper.looptree.search.branch.whole import ALL_BELOW, all_axis_orders, partial_dims
from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import LATENCY, SAME, Objective, better
from mapper.looptree.search.reasons import STAYS, left_out, reason
from mapper.looptree.search.space import Space

_NO_LIMIT = 1 << 62
_plans: dict[Any, Plan] = {}


def search(space: Space, objective: Objective, budget: Budget | None = None) -> Found:
    """The best LoopTree of a space, or the best until the budget is used up, with a bound.

    Raises MappingError when nothing fits, with what would have to change.
    """
    try:
        return _proven(space, objective, budget or Budget())
    except _NothingFitsError:
        raise MappingError(reason(space, _any)) from None


def _proven(space: Space, objective: Objective, budget: Budget) -> Found:
    """Where tiles may stay over loops that leave them as they are, a second search bounds what that can save."""
    first = _Search(space, objective, budget)
    found = first.run()
    if space.convention.bill_all or not first.has_borders():
        return found
    second = _Search(space, objective, budget, hopeful=True)
    other = second.run()
    keys = [objective.key(each.cost.energy_j, each.cost.latency_s) for each in (other, found)]
    best = other if better(*keys) else found
    evaluated = found.evaluated + other.evaluated
    bound = best.value if second.least >= best.value * (1 - SAME) else second.least
    doubt = best.doubt or ("" if bound == best.value or budget.over(evaluated) else STAYS)
    return replace(best, bound=bound, evaluated=evaluated, counted=found.counted, doubt=doubt)


def size(space: Space) -> float:
    """LoopTrees of a space that the search tells apart."""
    unsearched = _Search(space, LATENCY, Budget())
    return float(space_size(unsearched.arrays, unsearched.problem))


class _NothingFitsError(Exception):
    """No LoopTree of a space has room on the hierarchy and its axes."""


def _any(space: Space) -> Nest | None:
    try:
        return _Search(space, LATENCY, Budget(evaluations=0)).run().nest
    except _NothingFitsError:
        return None


def plan_of(space: Space, *, hopeful: bool = False) -> Plan:
    """The templates of a space; made once for spaces that differ in extents alone."""
    large = frozenset(dim for dim, extent in space.einsum.extents.items() if extent > 1)
    spread = tuple(sorted(space.spread.items()))
    key = (
        space.hierarchy,
        space.einsum.operands,
        large,
        space.convention,
        space.in_order,
        space.slots,
        spread,
        all_axis_orders(space),
        hopeful,
    )
    if key not in _plans:
        _plans[key] = plan(space, hopeful=hopeful)
    return _plans[key]


class _Search:
    def __init__(self, space: Space, objective: Objective, budget: Budget, *, hopeful: bool = False) -> None:
        self.whole, self.objective, self.budget = space, objective, budget
        space, self.pairs = joined(space)
        self.space = space
        self.plan = plan_of(space, hopeful=hopeful)
        self.least = 0.0
        compute = space.hierarchy.compute
        self.arrays = self.plan.arrays._replace(fixed_j=space.einsum.macs * compute.action.energy_j)
        self.problem = problem_of(space, self.plan, self.pairs, objective)
        self.best = np.full(3, np.inf)
        self.winner = np.full(1 + 2 * len(self.plan.groups), -1, np.int64)
        self.progress = np.zeros(2, np.int64)
        self.store = Store(self.arrays, self.problem.shares.shape[1])

    def run(self) -> Found:
        least = all_least(self.arrays, self.problem)
        keys = bounds(self.arrays, self.problem, least)
        left = float(keys[:, 0].min()) if partial_dims(self.space) else np.inf
        symmetric = is_symmetric(self.space, self.plan)
        for t in np.lexsort(keys.T[::-1]):
            if keys[t, 0] > self.best[0] * (1 + SAME):
                break
            if not is_better(keys[t], self.best):  # of equals but for rounding a later one may be
                continue
            if symmetric and self.plan.mirror[t] < t:
                continue
            if self.budget.over(int(self.progress[EVALUATED])) and self.winner[0] >= 0:
                left = min(left, float(keys[t, 0]))
                break
            choices = spatial(self.arrays, self.problem, least, t, self.best)
            left = min(left, self._open(int(t), choices))
        if self.winner[0] < 0:
            raise _NothingFitsError
        self.least = min(left, float(self.best[0]))
        return self._found(left)

    def has_borders(self) -> bool:
        """Whether any tile lies below a fan-out (or another memory's tiles, in order)."""
        templates = self.plan.templates
        return any(border(self.space, one, i) >= 0 for one in templates for i in range(len(one.tiles)))

    def _open(self, t: int, choices: Any) -> float:
        """Solve a template under its choices; the least bound of those that the budget leaves unsolved."""
        limit = _NO_LIMIT if self.budget.evaluations is None else self.budget.evaluations
        arrays, problem, at, why = self.arrays, self.problem, 0, 0
        while True:
            results = (self.best, self.winner, self.progress)
            at, why = solve(arrays, problem, t, choices, at, self.store.shelf, *results, limit)
            if why == DONE:
                return np.inf
            if why == OVER or (self.winner[0] >= 0 and self.budget.over(int(self.progress[EVALUATED]))):
                return float(choices[at, 0])
            g, option = int(problem.twin[why]), int(choices[at, 3 + why])
            shape, shares = int(arrays.shape[t, why]), problem.shares[why, option]
            self.store.make(g, shape, option, problem.extents[why], shares, problem.kind)

    def _found(self, left: float) -> Found:
        nest = apart(self._nest(), self.pairs, self.space.factors == "divisors")
        cost = evaluate(nest, self.whole.hierarchy, self.whole.convention)
        value = self.objective.key(cost.energy_j, cost.latency_s)[0]
        counted = partial(space_size, self.arrays, self.problem)
        doubt = "" if left >= value * (1 - SAME) else self._doubt()
        return Found(nest, cost, value, min(value, left), int(self.progress[EVALUATED]), counted, doubt)

    def _doubt(self) -> str:
        dims = {dim: self.space.einsum.extents[dim] for dim in partial_dims(self.space)}
        return left_out(dims, ALL_BELOW) if dims else ""

    def _nest(self) -> Nest:
        t = int(self.winner[0])
        tiles: dict[str, list[int]] = {}
        for g, group in enumerate(self.plan.groups):
            s, option = int(self.arrays.shape[t, g]), int(self.winner[1 + g])
            number = self.store.shelf.where[self.problem.twin[g], s, option]
            made = read(self.store.shelf.place, self.store.shelf.figures, number)
            row = made[self.winner[1 + len(self.plan.groups) + g]]
            for d, dim in enumerate(group.dims):
                loops = self.arrays.loops[g, s, d]
                extent, shares = self.problem.extents[g, d], self.problem.shares[g, option, d]
                chosen = tilings(loops, extent, shares, self.problem.kind)[int(row[self.arrays.sizes[g, s] + d])]
                tiles[dim] = [int(tile) for tile in chosen]
        return Nest(self.space.einsum, nodes_of(self.space, self.plan, t, tiles))
