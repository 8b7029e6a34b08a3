"""Exhaustive search of the stated space: every cut of every group x loop order x keep depths, best by the objective.

Space: group orders with batch outermost and the reduction innermost (partial sums never leave the accumulators);
cuts as in ``candidates``; each operand kept below any group that moves it or above all loops. Ties fall to the next
figure: latency, energy, EDP each followed by the others, then fewer moves, fewer bytes held, first in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from archsim.errors import MappingError
from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode
from archsim.spec.architecture import Architecture
from mapper.cost import Costs, evaluate
from mapper.costs import ChipCosts
from mapper.grid import Grid, build_grid, depths, needs, traffic
from mapper.problem import GROUPS, OperandPlan, Problem
from mapper.work import work

ORDERS: tuple[tuple[str, ...], ...] = (("B", "N", "M", "K"), ("B", "M", "N", "K"))


@dataclass(frozen=True)
class Choice:
    """The best cell: its mapping and the figures it was ranked by."""

    mapping: LayerMapping
    cycles: int
    energy_pj: float


def search(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str) -> Choice:
    """Best mapping of the problem; raises MappingError naming tensor, level, needs and has when nothing fits."""
    grid = build_grid(problem, chip.architecture)
    feasible = _feasible(grid)
    if not feasible.any():
        raise MappingError(_reason(grid, chip.architecture))
    done = work(grid, chip, dtypes, feasible)
    best: tuple[tuple[float, ...], tuple[int, ...], tuple[str, ...], dict[str, int], Costs] | None = None
    space = evaluated = 0
    for order in ORDERS:
        for kept in _depth_choices(grid, order):
            costs = evaluate(grid, chip, done, order, kept)
            space += costs.cycles.size
            evaluated += int(np.isfinite(costs.cycles).sum())
            key, cell = _best_cell(costs, objective)
            if np.isfinite(key[0]) and (best is None or key < best[0]):
                best = (key, cell, order, kept, costs)
    if best is None:
        raise MappingError(_reason(grid, chip.architecture))
    _, cell, order, kept, costs = best
    nodes = tree(grid, cell, order, kept, costs)
    mapping = LayerMapping(
        layer=problem.layer.name,
        unit=problem.unit,
        kind=problem.layer.kind,
        nodes=nodes,
        resident=tuple(plan.name for plan in problem.operands if plan.resident),
        bound_cycles=int(costs.bound[cell]),
        space=space,
        evaluated=evaluated,
        proof="optimal in the stated space",
    )
    return Choice(mapping, int(costs.cycles[cell]), float(costs.energy_pj[cell]))


def _depth_choices(grid: Grid, order: tuple[str, ...]) -> Iterator[dict[str, int]]:
    options = [depths(grid, plan, order) for plan in grid.problem.operands]
    for chosen in product(*options):
        yield {plan.name: depth for plan, depth in zip(grid.problem.operands, chosen, strict=True)}


def _best_cell(costs: Costs, objective: str) -> tuple[tuple[float, ...], tuple[int, ...]]:
    product_ = costs.cycles * costs.energy_pj
    ranked = {
        "latency": (costs.cycles, costs.energy_pj),
        "energy": (costs.energy_pj, costs.cycles),
        "edp": (product_, costs.cycles),
    }[objective]
    keys = [np.ravel(key) for key in (*ranked, costs.commands, costs.held)]
    index = int(np.lexsort(keys[::-1])[0])
    cell = tuple(int(i) for i in np.unravel_index(index, costs.cycles.shape))
    return tuple(float(key[index]) for key in keys), cell


def _feasible(grid: Grid) -> NDArray[np.bool_]:
    """Cells whose smallest need (every operand at its deepest) fits: a superset of all templates' legal cells."""
    used: dict[str, np.ndarray] = {}
    for plan in grid.problem.operands:
        used[plan.level] = used.get(plan.level, np.zeros(grid.shape)) + _least(grid, plan)
    legal = np.ones(grid.shape, dtype=bool)
    for level, need in used.items():
        legal &= need <= grid.problem.capacity[level]
    return legal


def _least(grid: Grid, plan: OperandPlan) -> np.ndarray:
    order = ORDERS[0]
    return needs(plan, traffic(grid, plan, order, len(order)))


def _reason(grid: Grid, architecture: Architecture) -> str:
    """Which tensor at which level does not fit even at the smallest tiles."""
    problem = grid.problem
    least = {plan.name: _least(grid, plan) for plan in problem.operands}
    worst: tuple[float, str, int, list[OperandPlan]] = (0.0, "", 0, [])
    for level in sorted({plan.level for plan in problem.operands}):
        plans = [plan for plan in problem.operands if plan.level == level]
        need = int(sum((least[plan.name] for plan in plans), np.zeros(grid.shape)).min())
        has = problem.capacity[level]
        ratio = need / has if has else float("inf")
        if ratio > worst[0]:
            worst = (ratio, level, need, plans)
    _, level, need, plans = worst
    largest = max(plans, key=lambda plan: float(least[plan.name].min()))
    total = architecture.memory(level).capacity_bytes
    return (
        f"layer '{problem.layer.name}' ({problem.layer.op}): no tiling fits '{level}' of chip '{architecture.name}': "
        "the smallest "
        f"needs {need:,} bytes, of which {int(least[largest.name].min()):,} for tensor "
        f"'{largest.tensor or largest.name}' "
        f"({largest.name}, {largest.slots} slots); it has {problem.capacity[level]:,} of {total:,} bytes free"
    )


def tree(
    grid: Grid, cell: tuple[int, ...], order: tuple[str, ...], kept: Mapping[str, int], costs: Costs
) -> tuple[MapNode, ...]:
    """The LoopTree of one cell: loops in order, each operand's Keep right below the last loop that moves it."""
    chosen = dict(zip(GROUPS, (grid.cuts[g][i] for g, i in zip(GROUPS, cell, strict=True)), strict=True))
    loops = [(dim, tile, group) for group in order for dim, tile in chosen[group].loops]
    keeps: dict[int, list[tuple[OperandPlan, bool]]] = {}
    for plan in grid.problem.operands:
        allowed = set(order[: kept[plan.name]])
        moving = [i for i, (dim, _, group) in enumerate(loops) if dim in plan.dims and group in allowed]
        depth = moving[-1] + 1 if moving else 0
        slides = (
            bool(costs.moved[plan.name].slides[cell]) and depth > 0 and loops[depth - 1][0] == grid.geometry.sliding
        )
        keeps.setdefault(depth, []).append((plan, slides))
    return _nodes(loops, keeps, grid, costs, cell)


def _nodes(
    loops: list[tuple[str, int, str]],
    keeps: Mapping[int, list[tuple[OperandPlan, bool]]],
    grid: Grid,
    costs: Costs,
    cell: tuple[int, ...],
) -> tuple[MapNode, ...]:
    nodes: list[MapNode] = []
    for depth in range(len(loops) + 1):
        for plan, slides in keeps.get(depth, []):
            if not slides:
                nodes.append(_keep(plan, costs, cell, len(nodes)))
        if depth < len(loops):
            sliding = [plan for plan, slides in keeps.get(depth + 1, []) if slides]
            for offset, plan in enumerate(sliding):
                nodes.append(_keep(plan, costs, cell, len(nodes) + len(sliding) - offset + 1))
            nodes.append(Loop(loops[depth][0], loops[depth][1]))
    return tuple(nodes)


def _keep(plan: OperandPlan, costs: Costs, cell: tuple[int, ...], reserve_at: int) -> Keep:
    slots = 0 if plan.resident else int(min(plan.slots, costs.moved[plan.name].moves[cell]))
    return Keep(plan.name, plan.level, slots, reserve_at)
