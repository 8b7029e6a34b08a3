"""The space that every search looks at: loop orders, depths of every Keep, cells of the tiling grid; and its mappings.

Group orders have batch outermost and the reduction innermost (partial sums never leave the accumulators); cuts as in
``candidates``; each operand is kept below any group that moves it or above all loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode
from archsim.spec.architecture import Architecture
from mapper.cost import Costs
from mapper.grid import Grid, depths, needs, traffic
from mapper.problem import GROUPS, OperandPlan

ORDERS: tuple[tuple[str, ...], ...] = (("B", "N", "M", "K"), ("B", "M", "N", "K"))


@dataclass(frozen=True)
class Choice:
    """A cell: its mapping and the figures it is ranked by."""

    mapping: LayerMapping
    cycles: int
    energy_pj: float


@dataclass(frozen=True)
class Cell:
    """One point of the space: loop order, depth of every Keep, index into the grid, and the costs there."""

    index: tuple[int, ...]
    order: tuple[str, ...]
    kept: Mapping[str, int]
    costs: Costs


def choice(grid: Grid, cell: Cell, space: int, evaluated: int, proof: str) -> Choice:
    """The mapping of a cell, with what the search says of it."""
    problem = grid.problem
    mapping = LayerMapping(
        layer=problem.layer.name,
        unit=problem.unit,
        kind=problem.layer.kind,
        nodes=tree(grid, cell.index, cell.order, cell.kept, cell.costs),
        resident=tuple(plan.name for plan in problem.operands if plan.resident),
        bound_cycles=int(cell.costs.bound[cell.index]),
        space=space,
        evaluated=evaluated,
        proof=proof,
    )
    return Choice(mapping, int(cell.costs.cycles[cell.index]), float(cell.costs.energy_pj[cell.index]))


def depth_choices(grid: Grid, order: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Every way to place the Keeps under a loop order."""
    options = [depths(grid, plan, order) for plan in grid.problem.operands]
    for chosen in product(*options):
        yield {plan.name: depth for plan, depth in zip(grid.problem.operands, chosen, strict=True)}


def feasible(grid: Grid) -> NDArray[np.bool_]:
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


def reason(grid: Grid, architecture: Architecture) -> str:
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
