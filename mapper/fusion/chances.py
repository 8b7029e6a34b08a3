"""Figures of a chain of layers: of its layers as they are, and of the groups that they may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Protocol

from archsim.base.errors import MappingError
from mapper.allocate.residency import Residency
from mapper.cost.grid_cost import Costs
from mapper.fusion.candidates import Loops, shared_loops
from mapper.fusion.forecast import forecast
from mapper.fusion.judging import Figure
from mapper.fusion.members import FusedGroup, Fusion, PassMapper, bare, fused
from mapper.fusion.outlook import outlook
from mapper.fusion.prospects import LoopsFigure
from mapper.given.priced import CELL
from mapper.groups.ties import ties_of
from mapper.problem.problem import Problem


class FusingMapper(PassMapper, Protocol):
    """What maps a network, of which some layers may be groups."""

    @property
    def objective(self) -> str:
        """What is minimised."""

    @property
    def asked(self) -> object:
        """What its searches depend on beside problems, chip and code: alike where that is."""

    def is_free(self, index: int) -> bool:
        """Whether nothing that was asked says how a layer is mapped."""


class ChainChances:
    """A chain of layers beside what stays on chip, and their costs one by one."""

    def __init__(
        self, layers: FusingMapper, choice: Fusion, residency: Residency, apart: Sequence[tuple[Problem, Costs]]
    ) -> None:
        self._layers, self._choice, self.residency = layers, choice, residency
        problems, costs = zip(*apart, strict=True)
        self._outlook = outlook(problems, costs)
        self.before = one_by_one(costs)
        self.fault = ""  # why it did not fit where it was searched last

    @property
    def least(self) -> Figure:
        """What hardly any group of them undercuts."""
        return self._outlook.figure(self._outlook.least, self._layers.chip)

    def outlooks(self) -> list[LoopsFigure]:
        """What each of its loops may leave."""
        parts, found = [self._layers.workload.layers[index] for index in self._choice.members], []
        for loops in shared_loops(parts[-1]):
            try:
                ties = ties_of(bare(parts, loops, ()), parts)
            except MappingError:
                continue
            cycles = self._outlook.cycles(ties, self._layers.chip)
            found.append(LoopsFigure(self._outlook.figure(cycles, self._layers.chip), loops))
        return found

    def searched(self, loops: Loops) -> Figure | None:
        """What it takes with these loops; None where that does not fit."""
        try:
            group = fused(self._layers, replace(self._choice, loops=loops), self.residency)
        except MappingError as error:
            self.fault = str(error)
            return None
        return _together(self._layers, group)


def _together(layers: FusingMapper, group: FusedGroup) -> Figure:
    """What a group is expected to take, and the energy of its accesses, operations and that time."""
    cycles = forecast(group.costs, prod(group.plan.trips), group.plan.begins).cycles
    work = sum(float(costs.energy(costs.cycles * 0).flat[CELL]) for costs in group.costs)
    return Figure(cycles, work + cycles * layers.chip.standing_pj)


def one_by_one(members: Iterable[Costs]) -> Figure:
    """What layers take one after the other."""
    cycles = energy = 0.0
    for costs in members:
        cycles += float(costs.cycles.flat[CELL])
        energy += float(costs.energy_pj.flat[CELL])
    return Figure(cycles, energy)
