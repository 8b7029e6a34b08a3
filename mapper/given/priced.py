"""The cost of one stated LoopTree, by the same formulas as a cell of the grid: latency bound, energy, traffic.

What an operand brings follows from the loops above its Keep alone, in any order: each one that does not move it repeats
all that lies below.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from archsim.ir.mapping import Keep, LayerMapping
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Grid, Traffic
from mapper.cost.grid_cost import Costs, held_bytes
from mapper.cost.tile_shares import geometry
from mapper.cost.unit_cycles import work
from mapper.lower.collisions import slowdown
from mapper.lower.frame import Frame
from mapper.problem.core_partition import of_core
from mapper.problem.cuts import Cut
from mapper.problem.geometry import Component, ranges, slot_padding, slot_sizes
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import GROUPS, Problem
from mapper.problem.strides import block_bytes

CELL = 0


def price(problem: Problem, mapping: LayerMapping, chip: ChipCosts, dtypes: Mapping[str, str]) -> Costs:
    """Costs of the mapping, its one cell; legal whatever it holds (capacity is checked where it is placed)."""
    frame = Frame(problem, of_core(problem, mapping), {})
    grid = _grid(frame)
    done = work(grid, chip, dtypes, np.ones(grid.shape, dtype=bool))
    moved = {plan.name: _traffic(frame, plan) for plan in problem.operands}
    flows = {name: traffic.at(np.unravel_index([CELL], grid.shape)) for name, traffic in moved.items()}
    held = sum((need.reshape(-1) for need in held_bytes(problem, moved).values()), np.zeros(1))
    cells = np.array([CELL])
    return Costs(problem, chip, cells, done.at(cells), flows, held, slowdown(problem, mapping, chip))


def brought_again(problem: Problem, mapping: LayerMapping) -> set[str]:
    """Operands of which bytes come in twice, of the mapping of one core's part."""
    frame = Frame(problem, mapping, {})
    return {plan.operand for plan in problem.loads if _traffic(frame, plan).again.item() > 1}


def _grid(frame: Frame) -> Grid:
    """One cell: the tile sizes of the whole nest."""
    problem, cut = frame.problem, frame.cut(len(frame.loops))
    cuts = {}
    for group in GROUPS:
        names = problem.groups[group]
        tiles = {dim: cut.get(dim, problem.dims[dim]) for dim in names}
        cuts[group] = [Cut(tiles, tuple((dim, cut[dim]) for dim in cut if dim in names))]
    return Grid(problem, geometry(problem), cuts, {})


def _depth(frame: Frame, plan: OperandPlan) -> tuple[int, bool]:
    """(loops above the operand, whether it slides); what is not kept has its tile below all loops."""
    if plan.name in frame.keeps and not plan.resident:
        return frame.keeps[plan.name]
    return len(frame.loops), False


def _traffic(frame: Frame, plan: OperandPlan) -> Traffic:
    problem = frame.problem
    depth, sliding = _depth(frame, plan)
    above = frame.loops[:depth]
    if plan.resident or not plan.buffered:
        moving = [number for number, loop in enumerate(above) if loop.dim in plan.dims]
        above = above[: moving[-1] + 1 if moving else 0]
    parts = frame.parts[plan.name]
    slid = above[-1].dim if sliding else None
    tiles = {**problem.dims, **{loop.dim: loop.tile for loop in above}}
    cut = {loop.dim: loop.tile for loop in above}
    strip = frame.strip(slid, len(above)) if slid is not None else 0
    sums = [_sums(part, cut, problem, slid, strip) for part in parts]
    again = prod(frame.trips(at) for at, loop in enumerate(above) if loop.dim not in plan.dims)
    moves = prod(frame.trips(at) for at in range(len(above)))
    slot = prod(part.size(tiles) for part in parts)
    padded = slot_padding(parts, problem.layer.dims, plan.element_bytes, plan.pad_bytes)
    held = block_bytes(slot_sizes(parts, tiles), plan.element_bytes, padded)
    filled, touched, first = (prod(column) for column in zip(*sums, strict=True)) if sums else (1, 1, 1)
    return Traffic(
        slot=_cell(slot),
        filled=_cell(filled * again),
        touched=_cell((filled if plan.beyond else touched) * again),
        first=_cell(first),
        moves=_cell(moves),
        slides=np.full((1,) * len(GROUPS), sliding),
        run=_cell(_run(parts, plan, tiles)),
        slot_bytes=_cell(held),
        again=_cell(again),
        slots=_cell(_slots(frame, plan)),
    )


def _slots(frame: Frame, plan: OperandPlan) -> int:
    nodes = frame.mapping.nodes
    kept = (node for node in nodes if isinstance(node, Keep))
    return next((node.slots for node in kept if frame.problem.kept(node.operand, node.level) == plan), 0)


def _sums(
    part: Component, cut: Mapping[str, int], problem: Problem, slid: str | None, strip: int
) -> tuple[int, int, int]:
    """(filled, touched, touched by the first) over the tiles of a component."""
    dim = next((name for name, _ in part.terms if name in cut and cut[name] < problem.dims[name]), None)
    filled, touched = ranges(part, dim, cut.get(dim or "", 0), problem.dims, dim is not None and dim == slid, strip)
    return int(filled.sum()), int(touched.sum()), int(touched[0])


def _run(parts: tuple[Component, ...], plan: OperandPlan, tiles: Mapping[str, int]) -> int:
    """Contiguous elements of a tile in DRAM, 0 where padding may cut it: as the grid has it."""
    run = 1
    joined = True
    for part in reversed(parts):
        if not part.terms:
            continue
        size = part.size(tiles)
        joined = joined and (plan.strides[part.axis] * part.unit == run or size == 1)
        if part.clip is not None:
            return 0 if joined else run
        run = run * size if joined else run
    return run


def _cell(value: float) -> np.ndarray:
    return np.full((1,) * len(GROUPS), float(value))
