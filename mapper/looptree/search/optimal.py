"""The best LoopTree of a space, proven: branch and bound over templates, fan-outs and tilings.

Space: all node orders with the loops that are worth having between them (search/branch/templates), every way to
spread dims over the fan-outs, every tiling. An outline and a spatial choice are bounded before their tilings are
tabulated, then solved, which bounds their templates; these are opened in the order of their bounds until none can be
better than what was found. Templates whose tiles have no choice of a window are their own outlines.
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
from mapper.looptree.search.branch.bounds import all_least, bounds, in_order, spatial
from mapper.looptree.search.branch.columns import border
from mapper.looptree.search.branch.join import EVALUATED, refine, solve
from mapper.looptree.search.branch.keys import is_better
from mapper.looptree.search.branch.part import Part
from mapper.looptree.search.branch.plan import Plan, plan
from mapper.looptree.search.branch.problem import problem_of
from mapper.looptree.search.branch.size import space_size
from mapper.looptree.search.branch.templates import outlines, templates
from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import LATENCY, SAME, Objective, better
from mapper.looptree.search.reasons import reason
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
    return replace(best, bound=bound, evaluated=evaluated, counted=found.counted)


def size(space: Space) -> float:
    """LoopTrees of a space that the search tells apart."""
    space, pairs = joined(space)
    found = [one for outline in outlines(space) for one in templates(space, outline)]
    compiled = plan(space, found)
    return float(space_size(compiled.arrays, problem_of(space, compiled, pairs, LATENCY)))


class _NothingFitsError(Exception):
    """No LoopTree of a space has room on the hierarchy and its axes."""


def _any(space: Space) -> Nest | None:
    try:
        return _Search(space, LATENCY, Budget(evaluations=0)).run().nest
    except _NothingFitsError:
        return None


def plan_of(space: Space, outline: int | None = None, *, hopeful: bool = False) -> Plan:
    """The outlines of a space, or the templates of one; made once for spaces that differ in extents alone."""
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
        outline,
        hopeful,
    )
    if key not in _plans:
        if outline is None:
            found = outlines(space)
        else:
            found = templates(space, plan_of(space, hopeful=hopeful).templates[outline])
        _plans[key] = plan(space, found, hopeful=hopeful)
    return _plans[key]


class _Search:
    def __init__(self, space: Space, objective: Objective, budget: Budget, *, hopeful: bool = False) -> None:
        self.whole, self.objective, self.budget, self.hopeful = space, objective, budget, hopeful
        self.space, self.pairs = joined(space)
        compiled = plan_of(self.space, hopeful=hopeful)
        self.problem = problem_of(self.space, compiled, self.pairs, objective)
        self.outlines = self.source = Part(self.space, compiled, self.problem)
        self.least = 0.0
        self.best = np.full(3, np.inf)
        self.winner = np.full(1 + 2 * len(compiled.groups), -1, np.int64)
        self.progress = np.zeros(2, np.int64)
        self.limit = _NO_LIMIT if budget.evaluations is None else budget.evaluations

    def run(self) -> Found:
        arrays = self.outlines.arrays
        least = all_least(arrays, self.problem)
        keys = bounds(arrays, self.problem, least)
        left, lowest = np.inf, np.full(3, np.inf)
        waiting: list[tuple[int, Any]] = []
        for t in map(int, np.lexsort(keys.T[::-1])):
            if not is_better(keys[t], self.best):
                break
            if self._over():
                left = min(left, float(keys[t, 0]))
                break
            choices = spatial(arrays, self.problem, least, t, self.best)
            if not self.outlines.plan.templates[t].is_outline:
                left = min(left, self._solve(self.outlines, t, choices))
                continue
            if self.winner[0] < 0 and len(choices):  # something to compare with, before all choices are refined
                left = min(left, self._open(t, self._refined(t, choices[:1].copy())))
            choices = self._refined(t, choices)
            if len(choices) and is_better(choices[0], lowest):
                lowest = choices[0]
                left = min(left, self._open(t, choices))
            elif len(choices):
                waiting.append((t, choices))
        for t, choices in sorted(waiting, key=lambda each: (*each[1][0, :3], each[0])):
            left = min(left, self._open(t, choices))
        if self.winner[0] < 0:
            raise _NothingFitsError
        self.least = min(left, float(self.best[0]))
        return self._found(left)

    def has_borders(self) -> bool:
        """Whether any tile lies below a fan-out (or another memory's tiles, in order)."""
        found = self.outlines.plan.templates
        return any(border(self.space, one, i) >= 0 for one in found for i in range(len(one.tiles)))

    def _over(self) -> bool:
        """Whether the budget is used up and there is something to return."""
        return bool(self.winner[0] >= 0) and self.budget.over(int(self.progress[EVALUATED]))

    def _refined(self, t: int, choices: Any) -> Any:
        """The choices of an outline that may be better than the best, with the keys of their best tilings."""
        results = (self.best, self.winner, self.progress, self.limit)
        self.outlines.solve(refine, t, choices, results, self._over)
        return in_order(choices[np.isfinite(choices[:, 0])])

    def _open(self, t: int, choices: Any) -> float:
        """Solve the templates of an outline; the least bound of the choices that the budget leaves unsolved."""
        if not len(choices) or not is_better(choices[0], self.best):
            return np.inf
        part = Part(self.space, plan_of(self.space, t, hopeful=self.hopeful), self.problem)
        mirror, left = part.plan.mirror, np.inf
        for i in range(len(choices)):
            if not is_better(choices[i], self.best):
                break
            alike = bool((choices[i, 3:] == choices[i, 3 + self.problem.twin]).all())
            for number in range(len(mirror)):
                if mirror[number] >= number or not alike:
                    left = min(left, self._solve(part, number, choices[i : i + 1]))
        return left

    def _solve(self, part: Part, t: int, choices: Any) -> float:
        """Solve a template; the least bound of the choices that the budget leaves unsolved."""
        before = self.best.copy()
        at = part.solve(solve, t, choices, (self.best, self.winner, self.progress, self.limit), self._over)
        if (self.best != before).any():
            self.source = part
        return np.inf if at == len(choices) else float(choices[at, 0])

    def _found(self, left: float) -> Found:
        nest = apart(self.source.nest(self.winner), self.pairs, self.space.factors == "divisors")
        cost = evaluate(nest, self.whole.hierarchy, self.whole.convention)
        value = self.objective.key(cost.energy_j, cost.latency_s)[0]
        return Found(nest, cost, value, min(value, left), int(self.progress[EVALUATED]), partial(size, self.whole))
