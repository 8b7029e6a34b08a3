"""The least work of the units of a layer, above all of one with bounds, for figures that no run undercuts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from archsim.facts.vector_cost import vector_cycles
from mapper.cost.chip_rates import ADDED, ChipCosts, drain_steps
from mapper.cost.grid import Flow
from mapper.cost.unit_cycles import Work
from mapper.problem.operands import OUT
from mapper.problem.problem import Problem


def least_work(problem: Problem, chip: ChipCosts, done: Work) -> Work:
    """What no core can do with less: its share of the points inside the bounds, as multiply-accumulates all at the peak
    of the array, or in full lanes of the vector unit. Tiles that bounds cut take whole folds, of which a sum over tiles
    is no bound."""
    none = np.zeros(done.array_total.shape)
    cores = problem.spread.cores if problem.spread is not None else 1
    array_cycles, lane_cycles = none, none
    if problem.engine == "array":
        array_cycles = none + on_array(problem, chip) / cores
    elif problem.engine == "vector" and not problem.accumulates:
        lane_cycles = none + in_lanes(problem, chip, problem.layer.points // cores)
    return replace(
        done, array_total=array_cycles, array_first=none, array_last=none, vector_total=lane_cycles, vector_first=none,
        vector_last=none, edge=dict.fromkeys(done.edge, none),
    )  # fmt: skip


def on_array(problem: Problem, chip: ChipCosts) -> float:
    """Reference cycles of the points inside a product's bounds at the peak of one array."""
    array = next(part for part in chip.architecture.arrays if part.name == problem.unit)
    slots = array.rows * array.cols * array.rate(problem.operand("a").dtype, problem.operand("b").dtype)
    return problem.layer.macs / (float(slots) * chip.scale(array))


def in_lanes(problem: Problem, chip: ChipCosts, points: int) -> float:
    """Reference cycles of so many points of a layer that is no product in full lanes of one vector unit."""
    unit = next(part for part in chip.architecture.vectors if part.name == problem.vector)
    lanes = unit.lane_count(problem.operand(OUT).dtype)
    return vector_cycles(points, lanes, drain_steps(problem.layer).group_cycles(unit), 0) / chip.scale(unit)


def product_in_lanes(problem: Problem, chip: ChipCosts) -> float:
    """Reference cycles of all points inside a product's bounds, one in each lane of one vector unit."""
    unit = next(part for part in chip.architecture.vectors if part.name == problem.unit)
    lanes = unit.lane_count(problem.operand(OUT).dtype)
    return problem.layer.points * float(ADDED.group_cycles(unit)) / (lanes * chip.scale(unit))


def least_flows(problem: Problem, flows: Mapping[str, Flow]) -> dict[str, Flow]:
    """Traffic that no run undercuts: of an operand of which bounds leave tiles out none is counted, nor of others that
    their first tiles are whole."""
    tied = {dim for bound in problem.layer.bounds for dim in bound.dims}
    found = {}
    for plan in problem.operands:
        flow = flows[plan.name]
        none = np.zeros(flow.touched.shape)
        left_out = flow._replace(filled=none, touched=none, first=none, moves=none)
        found[plan.name] = left_out if tied & plan.dims else flow._replace(first=none)
    return found
