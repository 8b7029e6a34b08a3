"""What a group will take about, from how its layers work one by one: a look ahead, before any pass is searched.

The array's work follows from the box of a pass, and the vector unit's does not change. DRAM brings and takes every byte
once, and none of what lies in windows. As in a forecast the busiest of them sets the pace.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from mapper.cost.chip_rates import ChipCosts, fold_function
from mapper.cost.grid_cost import Costs
from mapper.cost.latency import ARRAY, LOADS, PINS, STORES, VECTOR
from mapper.fusion.judging import Figure
from mapper.given.priced import CELL
from mapper.groups.ties import Tie, Ties
from mapper.problem.operands import OUT, OperandPlan
from mapper.problem.problem import Problem


class Outlook(NamedTuple):
    """Of layers in a group: the ``problems`` that they are one by one, the cycles that each resource ``works`` but for
    the array, those of the array as it works now, and energy but for what standing still takes."""

    problems: tuple[Problem, ...]
    works: Mapping[str, float]
    array: float
    energy_pj: float

    @property
    def least(self) -> float:
        """Cycles that loops hardly undercut, as the array works now."""
        return max(self.array, *self.works.values(), 0.0)

    def figure(self, cycles: float, chip: ChipCosts) -> Figure:
        """What the group takes where it takes so many cycles."""
        return Figure(cycles, self.energy_pj + cycles * chip.standing_pj)

    def cycles(self, ties: Ties, chip: ChipCosts) -> float:
        """Of passes whose members run over dims in tiles as ``ties`` say."""
        array, passes = 0.0, 1
        for problem in self.problems:
            own = ties[problem.layer.name]
            passes = max(passes, _passes(problem, own))
            array += _folded(problem, own, chip)
        in_a_pass = [array, self.works.get(VECTOR, 0.0), max([0.0, *self._moving])]
        return max(in_a_pass) + (sum(in_a_pass) - max(in_a_pass)) / passes

    @property
    def _moving(self) -> list[float]:
        """What moves bytes to and from DRAM works beside one another."""
        return [cycles for name, cycles in self.works.items() if name != VECTOR]


def outlook(problems: Sequence[Problem], members: Sequence[Costs]) -> Outlook:
    """Of layers that have these costs one by one; equal ones may share costs."""
    made = {problem.layer.output.tensor for problem in problems[:-1]}
    works: dict[str, float] = {}
    array = energy = 0.0
    for problem, costs in zip(problems, members, strict=True):
        spared = dict(_spared(problem, costs, made))
        for name, cycles in costs.work.items():
            work = float(cycles.flat[CELL])
            if name == ARRAY:
                array += work
            elif name in (VECTOR, LOADS, STORES) or name.endswith(PINS):
                works[name] = works.get(name, 0.0) + work * _left(costs, spared, name)
        energy += float(costs.energy(costs.cycles * 0).flat[CELL]) - _spared_pj(costs, spared)
    return Outlook(tuple(problems), works, array, energy)


def _passes(problem: Problem, ties: Sequence[Tie]) -> int:
    return prod(-(-problem.layer.dims[tie.dim] // tie.tile) for tie in ties)


def _folded(problem: Problem, ties: Sequence[Tie], chip: ChipCosts) -> float:
    """Cycles of the array in all passes, of which each is one tile."""
    if problem.engine != "array":
        return 0.0
    part = next(array for array in chip.architecture.arrays if array.name == problem.unit)
    box = {**problem.layer.dims, **{tie.dim: tie.tile for tie in ties}}
    cycles, *_ = fold_function(chip, problem.layer, part, problem.pair)(tuple(box.items()))
    return _passes(problem, ties) * cycles / chip.scale(part)


def _spared(problem: Problem, costs: Costs, made: Collection[str]) -> Iterator[tuple[str, tuple[float, float]]]:
    """Of each operand that comes from DRAM or goes to it: bytes that it moves now, and those that it need not."""
    tensors = {op.name: op.tensor for op in (*problem.layer.inputs, problem.layer.output)}
    for plan in _outer(problem, costs.chip):
        moved = float(costs.flows[plan.name].touched.flat[CELL]) * plan.element_bytes
        box = prod(size for dim, size in problem.layer.dims.items() if dim in plan.dims) * plan.element_bytes
        inside = tensors.get(plan.operand) in made
        yield plan.name, (moved, moved if inside else max(0.0, moved - box))


def _outer(problem: Problem, chip: ChipCosts) -> Iterator[OperandPlan]:
    for plan in (*problem.loads, *problem.stores):
        if not plan.resident and chip.architecture.memory(plan.home).kind == "dram":
            yield plan


def _left(costs: Costs, spared: Mapping[str, tuple[float, float]], resource: str) -> float:
    """The part of its work that a resource keeps: of what moves bytes to and from DRAM."""
    plans = [plan for plan in _outer(costs.problem, costs.chip) if _moves(plan, resource)]
    moved = sum(spared[plan.name][0] for plan in plans)
    return 1.0 - sum(spared[plan.name][1] for plan in plans) / moved if moved else 1.0


def _moves(plan: OperandPlan, resource: str) -> bool:
    return resource in (plan.home + PINS, STORES if plan.operand == OUT else LOADS)


def _spared_pj(costs: Costs, spared: Mapping[str, tuple[float, float]]) -> float:
    """Energy of the bytes that do not move: at DRAM, and at the memory that holds their tiles."""
    pj, total = costs.chip.energy_pj, 0.0
    for plan in _outer(costs.problem, costs.chip):
        far, near = ("write", "read") if plan.operand == OUT else ("read", "write")
        each = pj.get((plan.home, far), 0.0) + pj.get((plan.level, near), 0.0)
        total += spared[plan.name][1] * each
    return total
