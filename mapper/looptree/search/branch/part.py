"""Templates of a space with the tables of their tilings, which are made when the compiled search asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mapper.looptree.nest import Nest
from mapper.looptree.search.branch.bounds import Problem
from mapper.looptree.search.branch.join import DONE, OVER
from mapper.looptree.search.branch.nodes import nodes_of
from mapper.looptree.search.branch.plan import Plan
from mapper.looptree.search.branch.store import Store, Tables, read
from mapper.looptree.search.space import Space


class Part:
    """The templates of a plan, in the numbers of a problem."""

    def __init__(self, space: Space, plan: Plan, problem: Problem, known: Tables) -> None:
        self.space, self.plan, self.problem = space, plan, problem
        self.arrays = plan.arrays._replace(fixed_j=space.einsum.macs * space.hierarchy.compute.action.energy_j)
        self.store = Store(self.arrays, problem.shares.shape[1], known)

    def solve(
        self, kernel: Callable[..., Any], t: int, choices: Any, results: Sequence[Any], over: Callable[[], bool]
    ) -> int:
        """Run ``join.solve`` or ``join.refine`` on template ``t``; the first choice that a budget leaves unsolved."""
        at = 0
        while at < len(choices):
            self._tabulate(t, choices[at, 3:].astype(int).tolist())
            at, why = kernel(self.arrays, self.problem, t, choices, at, self.store.shelf, *results)
            if why == DONE:
                return len(choices)
            if why == OVER or over():
                return int(at)
        return at

    def _tabulate(self, t: int, options: Sequence[int]) -> None:
        problem, shapes, twins = self.problem, self.arrays.shape[t].tolist(), self.problem.twin.tolist()
        for g, (shape, twin, option) in enumerate(zip(shapes, twins, options, strict=True)):
            if self.store.shelf.where[twin, shape, option] < 0:
                self.store.make(twin, shape, option, problem.extents[g], problem.shares[g, option], problem.kind)

    def nest(self, winner: Any) -> Nest:
        """The LoopTree of a template, the options of its groups and rows of their tables."""
        t = int(winner[0])
        tiles: dict[str, list[int]] = {}
        for g, group in enumerate(self.plan.groups):
            s, option = int(self.arrays.shape[t, g]), int(winner[1 + g])
            number = self.store.shelf.where[self.problem.twin[g], s, option]
            made = read(self.store.shelf.place, self.store.shelf.figures, number)
            row = made[winner[1 + len(self.plan.groups) + g]]
            for d, dim in enumerate(group.dims):
                loops = self.arrays.loops[g, s, d]
                extent, shares = self.problem.extents[g, d], self.problem.shares[g, option, d]
                known = self.store.tilings(loops, extent, shares, self.problem.kind)
                tiles[dim] = known[int(row[self.arrays.sizes[g, s] + d])].tolist()
        return Nest(self.space.einsum, nodes_of(self.space, self.plan, t, tiles))
