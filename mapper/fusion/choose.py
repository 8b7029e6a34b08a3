"""Which layers of a network run as groups: those by whose groups the objective's figure falls most.

Each chain of layers is tried with several loops over passes. What a group spares is what its layers take one after the
other, less what they are expected to take together; of groups that share no layer those that spare most in sum are
chosen. The network is then mapped with them, and kept so where that is better by what is expected of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, Protocol

from archsim.base.errors import MappingError
from mapper.allocate.residency import Residency
from mapper.cost.grid_cost import Costs
from mapper.fusion.candidates import Loops, chains, shared_loops
from mapper.fusion.forecast import forecast
from mapper.fusion.members import FusedGroup, Fusion, PassMapper, fused
from mapper.given.priced import CELL, price
from mapper.lower.model import Mapped
from mapper.problem.problem import Problem, content

ENGINES = ("array", "vector unit")
WORTH = 0.005  # of what layers take: a group that spares less is none


class FusingMapper(PassMapper, Protocol):
    """What maps a network, of which some layers may be groups."""

    @property
    def objective(self) -> str:
        """What is minimised."""

    def is_stated(self, index: int) -> bool:
        """Whether a file states the mapping of a layer."""


class _Figure(NamedTuple):
    """Cycles and energy of layers."""

    cycles: float
    energy_pj: float

    def of(self, objective: str) -> float:
        """What the objective makes of them."""
        return {"latency": self.cycles, "energy": self.energy_pj}.get(objective, self.cycles * self.energy_pj)


class _Spared(NamedTuple):
    """What the best group of some layers spares, and its loops."""

    figure: float
    loops: Loops


def chosen(layers: FusingMapper, mapped: Mapped) -> tuple[Fusion, ...]:
    """The groups of a network that is ``mapped`` layer by layer, in order."""
    chooser = _Chooser(layers, mapped)
    found: dict[int, list[tuple[float, Fusion]]] = {}
    for members in chains(layers.workload):
        spared = chooser.spared(members)
        if spared is not None:
            choice = Fusion(members, chooser.engines(members), spared.loops)
            found.setdefault(members.start, []).append((spared.figure, choice))
    count = len(layers.workload.layers)
    behind: list[tuple[float, tuple[Fusion, ...]]] = [(0.0, ())] * (count + 1)  # the best from each layer on
    for first in reversed(range(count)):
        options = [behind[first + 1]]
        for figure, choice in found.get(first, ()):
            more, others = behind[choice.members.stop]
            options.append((figure + more, (choice, *others)))
        behind[first] = max(options, key=lambda option: option[0])
    return behind[0][1]


class _Chooser:
    """Tries groups of layers; equal ones in equal room once."""

    def __init__(self, layers: FusingMapper, mapped: Mapped) -> None:
        self.layers, self.mapped = layers, mapped
        self._costs: dict[int, Costs] = {}
        self._known: dict[object, _Spared | None] = {}

    def engines(self, members: range) -> tuple[str, ...]:
        """Of layers as they are mapped one by one."""
        return tuple([problem.engine for problem in self._problems(members)])

    def spared(self, members: range) -> _Spared | None:
        """What the best group of these layers spares; None where none is worth it."""
        if any(self.mapped.problems[index] is None or self.layers.is_stated(index) for index in members):
            return None
        if "copy" in self.engines(members):
            return None
        costs = [self._of(index) for index in members]
        before = _sum([_figure(each) for each in costs]).of(self.layers.objective)
        if self.layers.objective == "latency" and _floor(costs) >= before * (1 - WORTH):
            return None
        residency = _without(self.mapped.residency, self.layers, members)
        key = self._key(members, residency, before)
        if key not in self._known:
            self._known[key] = self._best(members, residency, before)
        return self._known[key]

    def _best(self, members: range, residency: Residency, before: float) -> _Spared | None:
        least, best = before * (1 - WORTH), None
        for loops in shared_loops(self.layers.workload.layers[members[-1]]):
            try:
                group = fused(self.layers, Fusion(members, self.engines(members), loops), residency)
            except MappingError:
                continue
            together = _together(self.layers, group).of(self.layers.objective)
            if together < least:
                least, best = together, _Spared(before - together, loops)
        return best

    def _key(self, members: range, residency: Residency, before: float) -> object:
        """Equal for layers of equal content that read one another alike, in equal room."""
        network = self.layers.workload
        made = {network.layers[index].output.tensor: place for place, index in enumerate(members)}
        read = [tuple(made.get(op.tensor, -1) for op in network.layers[index].inputs) for index in members]
        free = sorted(residency.free_beside(members, self.layers.architecture).items())
        held = [tuple(plan.resident for plan in problem.operands) for problem in self._problems(members)]
        return repr((*(content(problem) for problem in self._problems(members)), read, free, held, before))

    def _problems(self, members: range) -> list[Problem]:
        return [problem for index in members if (problem := self.mapped.problems[index]) is not None]

    def _of(self, index: int) -> Costs:
        if index not in self._costs:
            problem = self.mapped.problems[index]
            assert problem is not None
            found = price(problem, self.mapped.mappings[index], self.layers.chip, self.layers.dtypes)
            self._costs[index] = found
        return self._costs[index]


def _without(residency: Residency, layers: FusingMapper, members: range) -> Residency:
    """What stays on chip when the tensors that members make for one another lie in windows."""
    gone = {layers.workload.layers[index].output.tensor for index in members[:-1]}
    kept = {name: found for name, found in residency.tensors.items() if name not in gone}
    return Residency(residency.capacity, kept)


def _together(layers: FusingMapper, group: FusedGroup) -> _Figure:
    """What a group is expected to take, and the energy of its accesses, operations and that time."""
    cycles = forecast(group.costs, prod(group.plan.trips)).cycles
    work = sum(float(costs.energy(costs.cycles * 0).flat[CELL]) for costs in group.costs)
    return _Figure(cycles, work + cycles * layers.chip.standing_pj)


def _floor(apart: Sequence[Costs]) -> float:
    """Cycles that no group of these layers undercuts: the busier engine's, as they work now."""
    return max(sum(float(costs.work[name].flat[CELL]) for costs in apart if name in costs.work) for name in ENGINES)


def _figure(costs: Costs) -> _Figure:
    return _Figure(float(costs.cycles.flat[CELL]), float(costs.energy_pj.flat[CELL]))


def _sum(figures: Sequence[_Figure]) -> _Figure:
    return _Figure(sum(each.cycles for each in figures), sum(each.energy_pj for each in figures))
