"""Templates of a space with the tables of their tilings, which are made when the compiled search asks for them.

A table of few tilings is made once for all templates and choices. Of many only those that may be better than the best
are tabulated, for one choice; as long as these are too many, equal parts alone, and the choice is solved again later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from archsim.base.words import WordTable
from mapper.looptree.nest import Nest
from mapper.looptree.search.branch.bounds import Problem
from mapper.looptree.search.branch.join import MISSING, OVER, Results, joins_of, solve
from mapper.looptree.search.branch.narrow import NONE, SOME, TOO_MANY, Left, narrow, ranges_of
from mapper.looptree.search.branch.nodes import nodes_of
from mapper.looptree.search.branch.plan import MOST_DIMS, NO_LOOP, Plan
from mapper.looptree.search.branch.store import Store, Tables
from mapper.looptree.search.branch.tilings import ANY, EQUAL, kind_of
from mapper.looptree.search.space import Space

FEW = 1 << 14  # tilings of a group that are tabulated once for all
HALVES = 1 << 10  # of a dim, after which a choice is solved later
ALL = 1 << 62


class Part:
    """The templates of a plan, in the numbers of a problem.

    ``in_words``: its arrays and the problem as entries find them; ``later``: templates and choices to be solved again.
    """

    def __init__(self, space: Space, plan: Plan, problem: Problem, known: Tables) -> None:
        self.space, self.plan, self.problem = space, plan, problem
        self.arrays = plan.arrays._replace(fixed_j=float(space.einsum.macs * space.hierarchy.compute.action.energy_j))
        self._extents = list(problem.extents)
        self._kinds = [  # which tilings are tried, by group and dim
            [kind_of(extent, problem.kind, problem.every) for extent in extents] for extents in problem.extents.tolist()
        ]
        self.in_words = WordTable(self.arrays), WordTable(problem)
        self.store = Store(self.in_words[0], problem.shares.shape[1], known)
        self.later: list[tuple[int, Any]] = []
        self._shared = np.full(len(plan.groups), -1, np.int64)
        self._won = self._shared
        self._joins, self._ranges = WordTable(joins_of(self.arrays, 0)), WordTable(ranges_of(self.arrays))

    def solve(
        self, t: int, choices: Any, results: Results, over: Callable[[], bool], *, refined: bool, last: bool = False
    ) -> int:
        """Run ``join.solve`` on template ``t``; the first choice that a budget leaves unsolved.

        ``last``: no choice is left for later.
        """
        at, most = 0, ALL if refined or last else HALVES
        while at < len(choices):
            at, why = self._join(t, choices, at, results, refined, self._shared)
            if why == OVER or (why == MISSING and over()):
                return at
            if why == MISSING and self.problem.kind == ANY:
                left = narrow(
                    self.in_words[0],
                    self.in_words[1],
                    t,
                    choices[at],
                    results.best,
                    most,
                    results.progress,
                    self._ranges,
                )
                at = self._left(t, choices, at, results, refined, left)
            elif why == MISSING:
                self._tabulate(t, choices[at, 3:].astype(int).tolist())
        return at

    def _tabulate(self, t: int, options: Sequence[int]) -> None:
        """Make the shared tables of a choice."""
        for g in range(len(options)):
            if self._number(t, g, options) < 0:
                self._share(t, g, options)

    def _join(self, t: int, choices: Any, at: int, results: Results, refined: bool, given: Any) -> tuple[int, int]:
        before = results.best.copy()
        if self.store.widest > self._joins.value.widest:
            self._joins.write(joins_of(self.arrays, 2 * self.store.widest))
        shelf, joins = self.store.shelves, self._joins
        at, why = solve(*self.in_words, t, choices, at, shelf, given, results, refined, joins)
        if (results.best != before).any():
            self._won = given
        return int(at), int(why)

    def _left(self, t: int, choices: Any, at: int, results: Results, refined: bool, left: Left) -> int:
        """Make the tables of a choice of which something is left; where to go on."""
        if left.why == NONE:
            if refined:  # of an outline: none of its templates; else the others still have the choice
                choices[at, :3] = np.inf
            return at + 1
        options = choices[at, 3:].astype(int).tolist()
        missing = [g for g in range(len(options)) if self._number(t, g, options) < 0]
        own = [g for g in missing if left.whole[g] > FEW]
        for g in missing:
            if g not in own and self._number(t, g, options) < 0:
                self._share(t, g, options)
        if not own:
            return at
        given, first = self._shared.copy(), self.store.made
        for g in own:
            s, extents = int(self.arrays.shape[t, g]), self._extents[g]
            lists = [self._tilings(t, g, d, options[g], left) for d in range(MOST_DIMS)]
            given[g] = self.store.add(g, s, extents, lists, exact=False)
        end, _ = self._join(t, choices[: at + 1], at, results, refined, given)
        if self._won is not given:
            self.store.forget(first)
        if left.why == TOO_MANY and end > at:
            self.later.append((t, choices[at].copy()))
        return end

    def _number(self, t: int, g: int, options: Sequence[int]) -> int:
        """That of the shared table of a group."""
        return int(self.store.shelf.where[self.problem.twin[g], self.arrays.shape[t, g], options[g]])

    def _share(self, t: int, g: int, options: Sequence[int]) -> None:
        """Make the shared table of a group."""
        problem, o = self.problem, options[g]
        s, twin = int(self.arrays.shape[t, g]), int(problem.twin[g])
        self.store.make(twin, s, o, self._extents[g], problem.shares[g, o], self._kinds[g])

    def _tilings(self, t: int, g: int, d: int, o: int, left: Left) -> Any:
        """Those of a dim that may be better, or all that are tried; of too many the equal parts."""
        s, extents, shares = int(self.arrays.shape[t, g]), self._extents[g], self.problem.shares[g, o]
        if left.why == SOME and left.many[g, d] >= 0:
            depth = int(np.count_nonzero(self.arrays.loops[g, s, d] != NO_LOOP))
            return np.ascontiguousarray(left.tiles[g, d, : left.many[g, d], :depth])
        kind = EQUAL if left.why == TOO_MANY else self._kinds[g][d]
        return self.store.tilings(g, s, d, extents, shares, kind)

    def nest(self, winner: Any) -> Nest:
        """The LoopTree of a template, the options of its groups and rows of their tables."""
        t, count = int(winner[0]), len(self.plan.groups)
        options, rows = winner[1 : 1 + count].tolist(), winner[1 + count :].tolist()
        tiles: dict[str, list[int]] = {}
        for g, group in enumerate(self.plan.groups):
            number = int(self._won[g]) if self._won[g] >= 0 else self._number(t, g, options)
            tilings = self.store.row(number, rows[g])
            tiles |= {dim: tiling.tolist() for dim, tiling in zip(group.dims, tilings, strict=False)}
        return Nest(self.space.einsum, nodes_of(self.space, self.plan, t, tiles))
