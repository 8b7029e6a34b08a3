"""What VECTOR commands take that make tiles of a factor as the array reads it: one for each tile that comes in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from archsim.ir.functions import Function
from mapper.cost.chip_rates import ChipCosts, LaneWork
from mapper.cost.grid import Flow, Reals
from mapper.problem.conversion import CONVERT
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import Problem


class Conversions(NamedTuple):
    """Reference cycles of the vector unit at least: of all tiles, and of the first one of each factor."""

    total: Reals
    first: Reals


def conversions(chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow], slower: float = 1.0) -> Conversions:
    """Those of a layer's converted factors; ``slower``: how many times as long their bytes take where they collide."""
    total = first = np.zeros(())
    for plan in problem.made:
        unit = next(unit for unit in chip.architecture.vectors if unit.name == problem.vector)
        flow, lanes, scale = moved[plan.name], unit.lane_count(plan.dtype), chip.scale(unit)
        each = unit.startup_cycles / scale * slower
        along = float(LaneWork(plan.passes, (), (Function(CONVERT),)).group_cycles(unit)) / (lanes * scale) * slower
        total, first = total + flow.filled * along + flow.moves * each, first + flow.first * along + each
    return Conversions(total, first)


def lane_operations(problem: Problem, moved: Mapping[str, Flow]) -> Reals:
    """Elements times passes of all conversions."""
    return sum((moved[plan.name].filled * plan.passes for plan in problem.made), np.zeros(()))


def converted_tiles(problem: Problem) -> Iterator[tuple[OperandPlan, str]]:
    """Plans whose tiles conversions 'read' and 'write', each in the memory of its ring."""
    for plan in problem.made:
        yield from ((problem.operand(name), "read") for name in plan.made_of)
        yield plan, "write"
