"""The space that every search looks at: loop orders, depths of every Keep, cells of the tiling grid; and its mappings.

Group orders have batch outermost and the reduction innermost (partial sums never leave the accumulators); cuts as in
``mapper.problem.cuts``; each operand is kept below any group that moves it or above all loops. Where operands are
staged in memories further out, rows or columns may run in strips outside the other group, and sums in strips; stages of
inputs are kept as the inputs are, that of the output below all groups that move it or the first, the bias with the
weights. A grid of its own has filter taps that are cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import NamedTuple

import numpy as np

from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode
from mapper.cost.grid import STRIPS, Grid, Reals, at, depths
from mapper.cost.grid_cost import Costs
from mapper.lower.collisions import Collisions
from mapper.problem.cuts import Cut
from mapper.problem.operands import BIAS, EPILOGUE, OUT, OperandPlan
from mapper.problem.problem import GROUPS, Problem

Order = tuple[str, ...]
ORDERS: tuple[Order, ...] = (("B", "N", "M", "K"), ("B", "M", "N", "K"))
STRIPED: Mapping[str, tuple[Order, ...]] = {
    "N": (("B", "N2", "M", "N", "K"),),
    "M": (("B", "M2", "N", "M", "K"),),
    "K": (("B", "N", "M", "K2", "K"), ("B", "M", "N", "K2", "K")),
}


@dataclass(frozen=True)
class Choice:
    """A cell: its mapping, and the energy it is ranked by, of the work alone and of each cycle beside it."""

    mapping: LayerMapping
    work_pj: float
    standing_pj: float

    @property
    def energy_pj(self) -> float:
        """Of the expected cycles."""
        return self.energy(self.mapping.expected_cycles)

    def energy(self, cycles: int) -> float:
        """Where it takes so many cycles."""
        return self.work_pj + cycles * self.standing_pj


@dataclass(frozen=True)
class Cell:
    """One point of the space: its grid, loop order, depth of every Keep, and its flat index in the grid."""

    grid: Grid
    order: tuple[str, ...]
    kept: Mapping[str, int]
    number: int

    @property
    def index(self) -> tuple[int, ...]:
        """In the grid."""
        return tuple(int(i) for i in np.unravel_index(self.number, self.grid.shape))


class Kept(NamedTuple):
    """An operand's tiles in their memory, in a cell."""

    plan: OperandPlan
    slots: int
    slides: bool

    def node(self, reserve_at: int) -> Keep:
        """What a LoopTree says of it."""
        return Keep(self.plan.operand, self.plan.level, self.slots, reserve_at)


@dataclass(frozen=True)
class Settled:
    """A cell whose collisions are known: its mapping, without the bound, and its costs."""

    mapping: LayerMapping
    costs: Costs

    def choice(self) -> Choice:
        """With all its figures."""
        mapping = replace(self.mapping, bound_cycles=int(self.costs.bound))
        return Choice(mapping, float(self.costs.energy(np.zeros(()))), self.costs.chip.standing_pj)


def choice(cell: Cell, costs: Costs, position: int, space: int, evaluated: int, proof: str) -> Choice:
    """The mapping of a cell, with its figures, at a ``position`` of ``costs``, and what the search says of it.

    What it is expected to take is more than ``costs`` say where its bytes collide.
    """
    collisions = Collisions(cell.grid.problem, costs.chip)
    return settled(cell, costs, position, collisions, space, evaluated, proof).choice()


def settled(
    cell: Cell, costs: Costs, position: int, collisions: Collisions, space: int, evaluated: int, proof: str
) -> Settled:
    """The same before it is chosen; ``collisions``: of its problem."""
    problem = cell.grid.problem
    mapping = LayerMapping(
        layer=problem.layer.name,
        unit=problem.unit,
        kind=problem.layer.kind,
        nodes=spread_over(problem, tree(cell.grid, cell.index, cell.order, cell.kept)),
        resident=tuple(plan.name for plan in problem.operands if plan.resident),
        bound_cycles=0,
        space=space,
        evaluated=evaluated,
        proof=proof,
    )
    alone = costs.alone(position, collisions.slowdown(mapping))
    return Settled(replace(mapping, expected_cycles=int(alone.cycles)), alone)


def spread_over(problem: Problem, nodes: tuple[MapNode, ...]) -> tuple[MapNode, ...]:
    """A core's LoopTree below the loops that spread the layer over the cores."""
    if problem.spread is None:
        return nodes
    outer = tuple(Loop(dim, tile, problem.spread.axis) for dim, tile in problem.spread.loops)
    moved = (replace(n, reserve_at=n.reserve_at + len(outer)) if isinstance(n, Keep) else n for n in nodes)
    return (*outer, *moved)


def depth_choices(grid: Grid, order: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Every way to place the Keeps under a loop order, those further out no deeper than what is filled from them."""
    options = {plan.name: depths(grid, plan, order) for plan in grid.problem.operands}
    leaders = {plan.name: _leader(grid.problem, plan) for plan in grid.problem.operands}
    free = [name for name in options if not leaders[name]]
    nested = [(plan.name, plan.beyond) for plan in grid.problem.operands if plan.beyond]
    for chosen in product(*(options[name] for name in free)):
        found = dict(zip(free, chosen, strict=True))
        for name, leader in leaders.items():
            if leader:
                found[name] = max(depth for depth in options[name] if depth <= found[leader])
        if all(found[outer] <= found[inner] for inner, outer in nested) and _uses_strips(order, found):
            yield found


def _uses_strips(order: tuple[str, ...], found: Mapping[str, int]) -> bool:
    """Whether something is kept right below the strips, if there are any: else they only bring tiles in again."""
    strips = [position for position, group in enumerate(order) if group.endswith(STRIPS)]
    return all(position + 1 in found.values() for position in strips)


def _leader(problem: Problem, plan: OperandPlan) -> str:
    """The plan that another one goes with: what it follows, the stage of the weights for the bias, that of the output
    for its epilogue; '' for none."""
    if plan.follows:
        return plan.follows
    leading = {BIAS: "b", EPILOGUE: OUT}.get(plan.operand) if plan.is_stage else None
    leader = problem.kept(leading, plan.level) if leading is not None else None
    return leader.name if leader is not None else ""


def least_needs(grid: Grid, orders: Sequence[Order]) -> dict[str, Reals]:
    """Bytes that each memory holds at least in every cell: the smallest needs of all operands."""
    used: dict[str, Reals] = {}
    for plan in grid.problem.operands:
        found = [grid.traffic(plan, order, depth).needs for order in orders for depth in depths(grid, plan, order)]
        least = reduce(np.minimum, found) * grid.problem.times(plan, plan.level)
        used[plan.level] = used.get(plan.level, np.zeros(())) + least
    return used


def tree(grid: Grid, cell: tuple[int, ...], order: tuple[str, ...], kept: Mapping[str, int]) -> tuple[MapNode, ...]:
    """The LoopTree of one cell: loops in order, each operand's Keep right below the last loop that moves it."""
    chosen = dict(zip(GROUPS, (grid.cuts[g][i] for g, i in zip(GROUPS, cell, strict=True)), strict=True))
    loops = [(dim, tile, group) for group in order for dim, tile in _loops(chosen[group[0]], group)]
    keeps: dict[int, list[Kept]] = {}
    for plan in sorted(grid.problem.operands, key=lambda plan: plan.edge):
        if (not plan.buffered and not plan.resident) or plan.follows:
            continue
        allowed = set(order[: kept[plan.name]])
        moving = [i for i, (dim, _, group) in enumerate(loops) if dim in plan.dims and group in allowed]
        depth = moving[-1] + 1 if moving else 0
        moved = grid.traffic(plan, order, kept[plan.name])
        slides = bool(at(moved.slides, cell)) and depth > 0 and loops[depth - 1][0] == grid.geometry.sliding
        keeps.setdefault(depth, []).append(Kept(plan, int(at(moved.slots, cell)), slides))
    return _nodes(loops, keeps)


def _loops(cut: Cut, group: str) -> tuple[tuple[str, int], ...]:
    return cut.loops if not group.endswith(STRIPS) else (cut.strip,) if cut.strip else ()


def _nodes(loops: list[tuple[str, int, str]], keeps: Mapping[int, list[Kept]]) -> tuple[MapNode, ...]:
    nodes: list[MapNode] = []
    for depth in range(len(loops) + 1):
        for kept in keeps.get(depth, []):
            if not kept.slides:
                nodes.append(kept.node(len(nodes)))
        if depth < len(loops):
            sliding = [kept for kept in keeps.get(depth + 1, []) if kept.slides]
            for offset, kept in enumerate(sliding):
                nodes.append(kept.node(len(nodes) + len(sliding) - offset + 1))
            nodes.append(Loop(loops[depth][0], loops[depth][1]))
    return tuple(nodes)
