"""The best LoopTree of a space, proven: branch and bound over templates, fan-outs and tilings.

Space: all node orders with the loops that are worth having between them (search/branch/templates), every way to
spread dims over the fan-outs, every tiling. A template and a spatial choice are bounded before their tilings are
tabulated; they are opened in the order of their bounds until none can be better than what was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from archsim.errors import MappingError
from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.cost import evaluate
from mapper.looptree.nest import Nest
from mapper.looptree.search.branch.axes import Pairs, apart, joined
from mapper.looptree.search.branch.join import (
    DONE,
    EVALUATED,
    OVER,
    Problem,
    all_least,
    bounds,
    is_better,
    solve,
    spatial,
)
from mapper.looptree.search.branch.plan import MOST_DIMS, Plan, plan
from mapper.looptree.search.branch.size import space_size
from mapper.looptree.search.branch.store import Store, read
from mapper.looptree.search.branch.templates import Template, Tile
from mapper.looptree.search.branch.tilings import tilings
from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import LATENCY, Objective
from mapper.looptree.search.reasons import reason
from mapper.looptree.search.space import Factors, Space

_KINDS: Mapping[Factors, int] = {"divisors": 0, "spatial": 1, "any": 2}
_NO_LIMIT = 1 << 62
_plans: dict[Any, Plan] = {}


def search(space: Space, objective: Objective, budget: Budget | None = None) -> Found:
    """The best LoopTree of a space, or the best until the budget is used up, with a bound.

    Raises MappingError when nothing fits, with what would have to change.
    """
    try:
        return _Search(space, objective, budget or Budget()).run()
    except _NothingFitsError:
        raise MappingError(reason(space, _any)) from None


def size(space: Space) -> float:
    """LoopTrees of a space that the search tells apart."""
    search_of = _Search(space, LATENCY, Budget())
    return space_size(search_of.arrays, search_of.problem)


class _NothingFitsError(Exception):
    """No LoopTree of a space has room on the hierarchy and its axes."""


def _any(space: Space) -> Nest | None:
    try:
        return _Search(space, LATENCY, Budget(evaluations=0)).run().nest
    except _NothingFitsError:
        return None


def plan_of(space: Space) -> Plan:
    """The templates of a space; made once for spaces that differ in extents alone."""
    large = frozenset(dim for dim, extent in space.einsum.extents.items() if extent > 1)
    spread = tuple(sorted(space.spread.items()))
    key = (space.hierarchy, space.einsum.operands, large, space.convention, space.in_order, space.slots, spread)
    if key not in _plans:
        _plans[key] = plan(space)
    return _plans[key]


class _Search:
    def __init__(self, space: Space, objective: Objective, budget: Budget) -> None:
        self.whole, self.objective, self.budget = space, objective, budget
        space, self.pairs = joined(space)
        self.space = space
        self.plan = plan_of(space)
        compute = space.hierarchy.compute
        self.arrays = self.plan.arrays._replace(fixed_j=space.einsum.macs * compute.action.energy_j)
        self.problem = _problem(space, self.plan, self.pairs, objective)
        self.best = np.full(3, np.inf)
        self.winner = np.full(1 + 2 * len(self.plan.groups), -1, np.int64)
        self.progress = np.zeros(2, np.int64)
        self.store = Store(self.arrays, self.problem.shares.shape[1])

    def run(self) -> Found:
        least = all_least(self.arrays, self.problem)
        keys = bounds(self.arrays, self.problem, least)
        left = np.inf
        symmetric = _is_symmetric(self.space, self.plan)
        for t in np.lexsort(keys.T[::-1]):
            if not is_better(keys[t], self.best):
                break
            if symmetric and self.plan.mirror[t] < t:
                continue
            if self.budget.over(int(self.progress[EVALUATED])) and self.winner[0] >= 0:
                left = min(left, float(keys[t, 0]))
                break
            choices = spatial(self.arrays, self.problem, least, t, self.best)
            left = min(left, self._open(int(t), choices))
        if self.winner[0] < 0:
            raise _NothingFitsError
        return self._found(left)

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
        nest = apart(self._nest(), self.pairs)
        cost = evaluate(nest, self.whole.hierarchy, self.whole.convention)
        value = self.objective.key(cost.energy_j, cost.latency_s)[0]
        counted = partial(space_size, self.arrays, self.problem)
        return Found(nest, cost, value, min(value, left), int(self.progress[EVALUATED]), counted)

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
        return Nest(self.space.einsum, _nodes(self.space, self.plan, t, tiles))


def _nodes(space: Space, plan: Plan, t: int, tiles: Mapping[str, list[int]]) -> tuple[MapNode, ...]:
    """The LoopTree of a template with the tiles below each loop of each dim; loops of one trip are left out."""
    template = plan.templates[t]
    nodes: list[MapNode] = [Keep(tile.operand, tile.memory, 1, i) for i, tile in enumerate(template.top)]
    at = {dim: list(zip(plan.positions[t][dim], sizes, strict=True)) for dim, sizes in tiles.items()}
    now = dict(space.einsum.extents)
    for slot in range(len(template.slots)):
        for dim, axis in _loops(template, slot):
            inner = next(
                (tile for position, tile in at[dim] if (position.slot, position.axis) == (slot, axis)), now[dim]
            )
            if inner < now[dim]:
                nodes.append(Loop(dim, inner, axis))
                now[dim] = inner
        if slot < len(template.tiles):
            nodes.append(_keep(space, template.tiles[slot], len(nodes)))
    return _with_windows(template, nodes)


def _loops(template: Template, slot: int) -> list[tuple[str, str]]:
    dims = template.slots[slot]
    return [*((dim, "") for dim in dims.temporal), *((dim, axis) for axis in dims.axes for dim in _all(template))]


def _all(template: Template) -> list[str]:
    return sorted({dim for slot in template.slots for dim in slot.temporal})


def _keep(space: Space, tile: Tile, place: int) -> Keep:
    return Keep(tile.operand, tile.memory, space.slots, place)


def _with_windows(template: Template, nodes: list[MapNode]) -> tuple[MapNode, ...]:
    slides = {(tile.operand, tile.memory): tile.slides for tile in template.tiles if tile.slides}
    for place, node in enumerate(nodes):
        if isinstance(node, Keep) and (node.operand, node.level) in slides:
            below = nodes[place + 1] if place + 1 < len(nodes) else None
            if isinstance(below, Loop) and not below.axis and below.dim == slides[node.operand, node.level]:
                nodes[place] = Keep(node.operand, node.level, node.slots, place + 2)
    return tuple(nodes)


@dataclass(frozen=True)
class _Option:
    """How a group is spread: for each of its dims, trips on each axis."""

    shares: tuple[tuple[int, ...], ...]


def _problem(space: Space, plan: Plan, pairs: Pairs, objective: Objective) -> Problem:
    axes = space.hierarchy.axes
    options = [_options(space, group.dims) for group in plan.groups]
    count, most = len(options), max(map(len, options))
    shares = np.ones((count, most, MOST_DIMS, max(1, len(axes))), np.int64)
    rounds = np.ones((count, most, max(1, len(axes))), np.int64)
    extents = np.ones((count, MOST_DIMS), np.int64)
    for g, group in enumerate(plan.groups):
        for d, dim in enumerate(group.dims):
            extents[g, d] = space.einsum.extents[dim]
        for o, option in enumerate(options[g]):
            for d, trips in enumerate(option.shares):
                shares[g, o, d, : len(axes)] = trips
            for a, axis in enumerate(axes):
                for d, dim in enumerate(group.dims):
                    if dim in space.spread[axis.name]:
                        rounds[g, o, a] *= -(-space.einsum.extents[dim] // option.shares[d][a])
    most_rounds = [space.least_rounds.get(axis.name, 1 << 62) for axis in axes] or [1 << 62]
    return Problem(
        extents,
        shares,
        np.array([len(o) for o in options], np.int64),
        shares.prod(axis=2),
        rounds,
        np.array([axis.fanout for axis in axes] or [1], np.int64),
        np.array([[p.fanout for p in pairs.get(axis.name, ())] or [0, 0] for axis in axes] or [[0, 0]], np.int64),
        np.array(most_rounds, np.int64),
        np.array(_twins(space, plan), np.int64),
        _KINDS[space.factors],
        objective.energy_power,
        objective.delay_power,
    )


def _twins(space: Space, plan: Plan) -> list[int]:
    """The first group that is the same to the costs, of each group."""
    found = list(range(len(plan.groups)))
    if _is_symmetric(space, plan):
        for g, group in enumerate(plan.groups):
            other = plan.groups.index(replace(group, dims=tuple(plan.swap.get(dim, dim) for dim in group.dims)))
            found[g] = min(g, other)
    return found


def _is_symmetric(space: Space, plan: Plan) -> bool:
    extents = space.einsum.extents
    return bool(plan.swap) and all(extents[dim] == extents[other] for dim, other in plan.swap.items())


def _options(space: Space, dims: tuple[str, ...]) -> list[_Option]:
    """Every way to spread the dims of a group over the axes."""
    axes = space.hierarchy.axes
    by_dim = []
    for dim in dims:
        extent = space.einsum.extents[dim]
        choices = [space.shares(dim, a.fanout) if dim in space.spread[a.name] else [1] for a in axes]
        by_dim.append([c for c in product(*choices) if _spreads(space, extent, c)])
    found = [_Option(chosen) for chosen in product(*by_dim)]
    return [o for o in found if all(prod(s[a] for s in o.shares) <= axis.fanout for a, axis in enumerate(axes))]


def _spreads(space: Space, extent: int, shares: tuple[int, ...]) -> bool:
    """Whether a dim has work for all: what others leave of it is enough for the instances of each axis."""
    instances = prod(shares)
    if space.factors == "divisors":
        return extent % instances == 0
    return all(share <= -(-extent * share // instances) for share in shares)
