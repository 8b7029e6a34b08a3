"""A space as the numbers that the compiled search reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import prod
from typing import Any

import numpy as np

from mapper.looptree.search.branch.axes import Pairs
from mapper.looptree.search.branch.bounds import Problem
from mapper.looptree.search.branch.plan import MOST_DIMS, Plan
from mapper.looptree.search.branch.whole import all_axis_orders, every_up_to
from mapper.looptree.search.objective import Objective
from mapper.looptree.search.space import Factors, Space

_KINDS: Mapping[Factors, int] = {"divisors": 0, "spatial": 1, "any": 2}


@dataclass(frozen=True)
class _Option:
    """How a group is spread: for each of its dims, trips on each axis."""

    shares: tuple[tuple[int, ...], ...]


def problem_of(space: Space, plan: Plan, pairs: Pairs, objective: Objective) -> Problem:
    """The numbers of a space; ``pairs``: axes that stand for two."""
    axes = space.hierarchy.axes
    options = [_options(space, group.dims) for group in plan.groups]
    most_rounds = np.array([space.least_rounds.get(axis.name, 1 << 62) for axis in axes] or [1 << 62], np.int64)
    rounds = [_rounds(space, group.dims, found) for group, found in zip(plan.groups, options, strict=True)]
    options, rounds = _used(options, rounds, most_rounds)
    extents = np.ones((len(options), MOST_DIMS), np.int64)
    for g, group in enumerate(plan.groups):
        extents[g, : len(group.dims)] = [space.einsum.extents[dim] for dim in group.dims]
    shares = np.ones((len(options), max(map(len, options)), MOST_DIMS, len(most_rounds)), np.int64)
    for g, found in enumerate(options):
        for o, option in enumerate(found):
            for d, trips in enumerate(option.shares):
                shares[g, o, d, : len(axes)] = trips
    return Problem(
        extents,
        shares,
        np.array([len(o) for o in options], np.int64),
        shares.prod(axis=2),
        _filled(rounds, shares.shape[1]),
        np.array([axis.fanout for axis in axes] or [1], np.int64),
        np.array([[p.fanout for p in pairs.get(axis.name, ())] or [0, 0] for axis in axes] or [[0, 0]], np.int64),
        most_rounds,
        np.array(_twins(space, plan), np.int64),
        _KINDS[space.factors],
        every_up_to(space, pairs),
        float(objective.energy_power),
        float(objective.delay_power),
    )


def _rounds(space: Space, dims: tuple[str, ...], options: Sequence[_Option]) -> Any:
    """(options, axes) rounds in which each axis works off a group."""
    axes = space.hierarchy.axes
    found = np.ones((len(options), max(1, len(axes))), np.int64)
    for o, option in enumerate(options):
        for a, axis in enumerate(axes):
            for dim, shares in zip(dims, option.shares, strict=True):
                if dim in space.spread[axis.name]:
                    found[o, a] *= -(-space.einsum.extents[dim] // shares[a])
    return found


def _used(options: list[list[_Option]], rounds: list[Any], most: Any) -> tuple[list[list[_Option]], list[Any]]:
    """The options with which an axis can be used as far as it must be, whatever the other groups do."""
    least = np.prod([found.min(axis=0) for found in rounds], axis=0)
    left = [((found * (least // found.min(axis=0))) <= most).all(axis=1) for found in rounds]
    kept = [[one for one, fits in zip(o, fit, strict=True) if fits] for o, fit in zip(options, left, strict=True)]
    return kept, [found[fit] for found, fit in zip(rounds, left, strict=True)]


def _filled(rounds: list[Any], most: int) -> Any:
    found = np.ones((len(rounds), most, rounds[0].shape[1]), np.int64)
    for g, of_group in enumerate(rounds):
        found[g, : len(of_group)] = of_group
    return found


def _twins(space: Space, plan: Plan) -> list[int]:
    """The first group that is the same to the costs, of each group."""
    found = list(range(len(plan.groups)))
    if is_symmetric(space, plan):
        for g, group in enumerate(plan.groups):
            other = plan.groups.index(replace(group, dims=tuple(plan.swap.get(dim, dim) for dim in group.dims)))
            found[g] = min(g, other)
    return found


def is_symmetric(space: Space, plan: Plan) -> bool:
    """Whether the dims that a plan may exchange have equal extents."""
    extents = space.einsum.extents
    return bool(plan.swap) and all(extents[dim] == extents[other] for dim, other in plan.swap.items())


def _options(space: Space, dims: tuple[str, ...]) -> list[_Option]:
    """Every way to spread the dims of a group over the axes."""
    axes = space.hierarchy.axes
    numbers = {axis.name: a for a, axis in enumerate(axes)}
    orders = [[numbers[name] for name in chain.from_iterable(order)] for order in product(*all_axis_orders(space))]
    by_dim = []
    for dim in dims:
        extent = space.einsum.extents[dim]
        choices = [space.shares(dim, a.fanout) if dim in space.spread[a.name] else [1] for a in axes]
        by_dim.append([c for c in product(*choices) if _spreads(space, extent, c, orders)])
    found = [_Option(chosen) for chosen in product(*by_dim)]
    return [o for o in found if all(prod(s[a] for s in o.shares) <= axis.fanout for a, axis in enumerate(axes))]


def _spreads(space: Space, extent: int, shares: Sequence[int], orders: list[list[int]]) -> bool:
    """Whether an extent can be cut in so many parts on each axis, in some order of them, all of them used."""
    if space.factors == "divisors":
        return extent % prod(shares) == 0
    return any(_least([shares[a] for a in order]) <= extent for order in orders)


def _least(shares: Sequence[int]) -> int:
    """The smallest extent that so many parts of so many parts leave none without work, outermost first."""
    least = 1
    for share in reversed(shares):
        least = (share - 1) * least + 1
    return least
