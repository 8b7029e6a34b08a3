"""The best LoopTree of a space, proven: branch and bound over templates, fan-outs and tilings.

Space: all node orders with the loops that are worth having between them (search/branch/templates), every way to
spread dims over the fan-outs, every tiling. An outline and a spatial choice are bounded before their tilings are
tabulated, then solved, which bounds their templates; these are opened in the order of their bounds until none can be
better than what was found. Templates whose tiles have no choice of a window are their own outlines.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from archsim.base.errors import MappingError
from mapper.looptree.cost import evaluate
from mapper.looptree.nest import Nest
from mapper.looptree.search.branch.axes import apart, joined
from mapper.looptree.search.branch.bounds import LowerBounds, in_order
from mapper.looptree.search.branch.join import EVALUATED, Results
from mapper.looptree.search.branch.keys import is_better
from mapper.looptree.search.branch.part import Part
from mapper.looptree.search.branch.plan import Plan, plan
from mapper.looptree.search.branch.problem import is_symmetric, problem_of
from mapper.looptree.search.branch.size import space_size
from mapper.looptree.search.branch.stays import border, hopeful, staying
from mapper.looptree.search.branch.store import Tables
from mapper.looptree.search.branch.templates import Template, outlines, templates
from mapper.looptree.search.branch.whole import all_axis_orders, every_up_to, partial_dims, uneven_dims
from mapper.looptree.search.branch.windows import reach, reaching, with_windows
from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import LATENCY, SAME, Objective
from mapper.looptree.search.reasons import left_out, reason
from mapper.looptree.search.space import Space

_NO_LIMIT = 1 << 62
_plans: dict[Any, Plan] = {}


def search(space: Space, objective: Objective, budget: Budget | None = None, known: Tables | None = None) -> Found:
    """The best LoopTree of a space, or the best until the budget is used up, with a bound.

    ``known``: tables of tilings that searches of the space by other objectives have made, and take from each other.
    Raises MappingError when nothing fits, with what would have to change.
    """
    try:
        return _proven(space, objective, budget or Budget(), {} if known is None else known)
    except _NothingFitsError:
        raise MappingError(reason(space, _any)) from None


def _proven(space: Space, objective: Objective, budget: Budget, known: Tables) -> Found:
    """Where tiles may stay over loops that leave them as they are, a second search tries what is better for that."""
    first = _Search(space, objective, budget, known)
    found = first.run()
    if space.convention.bill_all or not first.has_more():
        return found
    return _Search(space, objective, budget, known, after=(first, found)).run()


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
        return _Search(space, LATENCY, Budget(evaluations=0), {}).run().nest
    except _NothingFitsError:
        return None


def plan_of(space: Space, path: tuple[int, ...] = (), *, stays: bool = False) -> Plan:
    """The outlines of a space, or the templates of one; made once for spaces that differ in extents alone.

    ``path``: the number of the outline; where tiles stay over loops (``stays``) also of one with its windows.
    """
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
        tuple(uneven_dims(space).items()),
        path,
        stays,
    )
    if key not in _plans:
        _plans[key] = plan(space, _templates(space, path, stays=stays))
    return _plans[key]


def _templates(space: Space, path: tuple[int, ...], *, stays: bool) -> list[Template]:
    if not path:
        found = outlines(space)
        return [hopeful(space, reaching(space, one)) for one in found] if stays else found
    outline = plan_of(space, path[:-1], stays=stays).templates[path[-1]]
    if not stays:
        return templates(space, outline)
    return [hopeful(space, one) for one in with_windows(space, outline)] if len(path) == 1 else staying(space, outline)


class _Search:
    """``waiting``: outlines and their refined choices; ``lowest``: the best key of these; ``left``: the least bound of
    what a budget leaves unsolved. ``after``: a search without tiles that stay, which this one goes on with.
    """

    def __init__(
        self,
        space: Space,
        objective: Objective,
        budget: Budget,
        known: Tables,
        after: tuple[_Search, Found] | None = None,
    ) -> None:
        self.whole, self.objective, self.budget, self.stays = space, objective, budget, after is not None
        self.known = known
        self.space, self.pairs = joined(space)
        compiled = plan_of(self.space, stays=self.stays)
        self.problem = problem_of(self.space, compiled, self.pairs, objective)
        self.outlines = self.source = Part(self.space, compiled, self.problem, known)
        self.bounds = LowerBounds(*self.outlines.in_words)
        self.waiting: list[tuple[int, Any]] = []
        self.left = np.inf
        self.lowest = np.full(3, np.inf)
        self.best = np.full(3, np.inf)
        self.winner = np.full(1 + 2 * len(compiled.groups), -1, np.int64)
        self.progress = np.zeros(2, np.int64)
        limit = _NO_LIMIT if budget.evaluations is None else budget.evaluations
        self.results = Results(self.best, self.winner, self.progress, limit)
        self.parts = [self.outlines]
        if after is not None:
            self._go_on(*after)

    def _go_on(self, first: _Search, found: Found) -> None:
        self.source, self.winner, self.progress, self.left = first.source, first.winner, first.progress, first.left
        self.best[:] = self.objective.key(found.cost.energy_j, found.cost.latency_s)
        self.results = Results(self.best, self.winner, self.progress, self.results.limit)

    def run(self) -> Found:
        keys = self.bounds.of_templates()
        if partial_dims(self.whole):
            self.left = min(self.left, float(keys[:, 0].min()))
        for t in map(int, np.lexsort(keys.T[::-1])):
            if keys[t, 0] > self.best[0] * (1 + SAME):
                break
            if is_better(keys[t], self.best):  # of equals but for rounding a later one may be
                self._enter(t, float(keys[t, 0]))
        for t, choices in sorted(self.waiting, key=lambda each: (*each[1][0, :3], each[0])):
            self._open(t, choices)
        for part in self.parts:
            for t, choice in sorted(part.later, key=lambda each: tuple(each[1][:3])):
                self._solve(part, t, choice[None], last=True)
        if self.winner[0] < 0:
            raise _NothingFitsError
        return self._found()

    def _enter(self, t: int, bound: float) -> None:
        """Solve a template that is its own outline; refine an outline, and open it if it is the best so far."""
        if self._over():
            self.left = min(self.left, bound)
            return
        choices = in_order(self.bounds.of_choices(t, self.best))
        if not self.stays and not self.outlines.plan.templates[t].is_outline:
            self._solve(self.outlines, t, choices)
            return
        if self.winner[0] < 0:  # something to compare with, before all choices are refined
            self._open(t, self._refined(self.outlines, t, choices[:1].copy()))
        choices = self._refined(self.outlines, t, choices)
        if len(choices) and is_better(choices[0], self.lowest):
            self.lowest = choices[0, :3].copy()
            self._open(t, choices)
        elif len(choices):
            self.waiting.append((t, choices))

    def has_more(self) -> bool:
        """Whether tiles may stay over loops that they cannot be moved above, or slide over one below other tiles."""
        places = [(one, i) for one in self.outlines.plan.templates for i in range(len(one.tiles))]
        return any(border(self.space, *place) >= 0 or reach(self.space, *place) for place in places)

    def _over(self) -> bool:
        """Whether the budget is used up and there is something to return."""
        return bool(self.winner[0] >= 0) and self.budget.over(int(self.progress[EVALUATED]))

    def _refined(self, part: Part, t: int, choices: Any) -> Any:
        """The choices of an outline that may be better than the best, with the keys of their best tilings."""
        part.solve(t, choices, self.results, self._over, refined=True)
        return in_order(choices[np.isfinite(choices[:, 0])])

    def _open(self, t: int, choices: Any) -> None:
        """Solve the templates of an outline under choices that are refined."""
        if not self.stays:
            self._solve_all((t,), choices)
        elif self._is_worth(choices):
            part = Part(self.space, plan_of(self.space, (t,), stays=True), self.problem, self.known)
            refined = [self._refined(part, number, choices.copy()) for number in range(len(part.plan.templates))]
            left = [(*each[0, :3], number) for number, each in enumerate(refined) if len(each)]
            for *_, number in sorted(left):
                self._solve_all((t, number), refined[number])

    def _is_worth(self, choices: Any) -> bool:
        """Whether any choice may be better than the best, and the budget allows to see."""
        worth = any(is_better(choice, self.best) for choice in choices)
        if worth and self._over():
            self.left = min(self.left, float(choices[:, 0].min()))
        return worth and not self._over()

    def _solve_all(self, path: tuple[int, ...], choices: Any) -> None:
        """Solve templates under choices that are refined."""
        if not self._is_worth(choices):
            return
        part = Part(self.space, plan_of(self.space, path, stays=self.stays), self.problem, self.known)
        self.parts.append(part)
        mirror, symmetric = part.plan.mirror, is_symmetric(self.space, part.plan)
        for i in range(len(choices)):
            if not is_better(choices[i], self.best):
                continue
            alike = symmetric and bool((choices[i, 3:] == choices[i, 3 + self.problem.twin]).all())
            for number in range(len(mirror)):
                if mirror[number] >= number or not alike:
                    self._solve(part, number, choices[i : i + 1])

    def _solve(self, part: Part, t: int, choices: Any, *, last: bool = False) -> None:
        """Solve a template; ``left`` is the least bound of what the budget leaves unsolved."""
        before = self.best.copy()
        at = part.solve(t, choices, self.results, self._over, refined=False, last=last)
        if (self.best != before).any():
            self.source = part
        if at < len(choices):
            self.left = min(self.left, float(choices[at, 0]))

    def _found(self) -> Found:
        nest = apart(self.source.nest(self.winner), self.pairs, self.space.factors != "any")
        cost = evaluate(nest, self.whole.hierarchy, self.whole.convention)
        value = self.objective.key(cost.energy_j, cost.latency_s)[0]
        counted = partial(size, self.whole)
        doubt = "" if self.left >= value * (1 - SAME) else self._doubt()
        return Found(nest, cost, value, min(value, self.left), int(self.progress[EVALUATED]), counted, doubt)

    def _doubt(self) -> str:
        dims = {dim: self.space.einsum.extents[dim] for dim in partial_dims(self.whole)}
        return left_out(dims, every_up_to(self.whole)) if dims else ""
