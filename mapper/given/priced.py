"""The cost of one stated LoopTree, by the same formulas as a cell of the grid: latency bound, energy, traffic.

What an operand brings follows from the loops above its Keep alone, in any order: each one that does not move it repeats
all that lies below.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from archsim.ir.mapping import Keep, LayerMapping
from mapper.cost.bounded_share import moved_trims
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Cells, Grid, Traffic, contiguous_runs, slot_bytes
from mapper.cost.grid_cost import Costs, held_bytes
from mapper.cost.tile_shares import GroupCuts, geometry
from mapper.cost.unit_cycles import work
from mapper.lower.collisions import slowdown
from mapper.lower.frame import Frame
from mapper.lower.tile_moves import repeats, totals
from mapper.problem.bounded import share
from mapper.problem.core_partition import of_core
from mapper.problem.cuts import Cut
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import GROUPS, Problem

CELL = 0


def price(problem: Problem, mapping: LayerMapping, chip: ChipCosts, dtypes: Mapping[str, str]) -> Costs:
    """Costs of the mapping, its one cell; legal whatever it holds (capacity is checked where it is placed)."""
    frame = Frame(problem, of_core(problem, mapping), {})
    grid = _grid(frame)
    done = work(grid, chip, dtypes, np.ones(grid.shape, dtype=bool))
    moved = {plan.name: _traffic(frame, plan) for plan in problem.operands}
    cells = np.array([CELL])
    at = Cells(cells, grid.shape)
    flows = {name: traffic.at(at) for name, traffic in moved.items()}
    held = sum((need.reshape(-1) for need in held_bytes(problem, moved).values()), np.zeros(1))
    return Costs(problem, chip, cells, done.at(cells), flows, held, slowdown(problem, mapping, chip))


def brought_again(problem: Problem, mapping: LayerMapping) -> set[str]:
    """Operands of which bytes come in twice, of the mapping of one core's part."""
    frame = Frame(problem, mapping, {})
    return {plan.operand for plan in problem.loads if repeats(frame, plan, _depth(frame, plan)[0]) > 1}


def _grid(frame: Frame) -> Grid:
    """One cell: the tile sizes of the whole nest."""
    problem, cut = frame.problem, frame.cut(len(frame.loops))
    cuts = {}
    for group in GROUPS:
        names = problem.groups[group]
        tiles = {dim: cut.get(dim, problem.dims[dim]) for dim in names}
        cuts[group] = [Cut(tiles, tuple((dim, cut[dim]) for dim in cut if dim in names))]
    geo = geometry(problem)
    return Grid(problem, geo, cuts, {group: GroupCuts(geo, group, made) for group, made in cuts.items()})


def _depth(frame: Frame, plan: OperandPlan) -> tuple[int, bool]:
    """(loops above the operand, whether it slides); what is not kept has its tile below the last loop that moves it."""
    if plan.name in frame.keeps and not plan.resident and plan.buffered:
        return frame.keeps[plan.name]
    moving = [at for at, loop in enumerate(frame.loops) if loop.dim in plan.dims]
    return (moving[-1] + 1 if moving else 0), False


def _traffic(frame: Frame, plan: OperandPlan) -> Traffic:
    problem, parts = frame.problem, frame.parts[plan.name]
    depth, sliding = _depth(frame, plan)
    sizes = [_cell(part.size(frame.tiles(depth))) for part in parts]
    moved, again = totals(frame, plan, depth, sliding), repeats(frame, plan, depth)
    runs = contiguous_runs(plan, parts, sizes)
    left = share(moved_trims(problem, plan), problem.layer.dims, frame.cut(depth))
    return Traffic(
        slot=prod(sizes, start=_cell(1)),
        filled=_cell(moved.filled * again * left),
        touched=_cell((moved.filled if plan.beyond else moved.touched) * again * left),
        first=_cell(moved.first),
        moves=_cell(moved.tiles * again),
        slides=np.array(sliding),
        run=np.asarray(runs.length),
        step=np.asarray(runs.step),
        slot_bytes=np.asarray(slot_bytes(problem, plan, parts, sizes)),
        again=_cell(again),
        slots=_cell(_slots(frame, plan)),
    )


def _slots(frame: Frame, plan: OperandPlan) -> int:
    nodes, leader = frame.mapping.nodes, plan.follows or plan.name
    kept = [(node, frame.problem.kept(node.operand, node.level)) for node in nodes if isinstance(node, Keep)]
    return next((node.slots for node, found in kept if found is not None and found.name == leader), 0)


def _cell(value: float) -> np.ndarray:
    return np.array(float(value))
