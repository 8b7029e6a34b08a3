"""Which layers of a network run as groups: those by whose groups the objective's figure falls most.

Each chain of layers is tried with several loops over passes. What a group spares is what its layers take one after the
other, less what they are expected to take together; of groups that share no layer those that spare most in sum are
chosen. The network is then mapped with them, and kept so where that is better by what is expected of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple, Protocol

from archsim.base.errors import MappingError
from mapper.allocate.residency import Residency
from mapper.cost.grid_cost import Costs
from mapper.fusion.candidates import chains, shared_loops
from mapper.fusion.forecast import forecast
from mapper.fusion.members import FusedGroup, Fusion, PassMapper, fused
from mapper.given.priced import CELL, price
from mapper.lower.model import Mapped

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


def chosen(layers: FusingMapper, mapped: Mapped) -> tuple[FusedGroup, ...]:
    """The groups of a network that is ``mapped`` layer by layer, in order."""
    found: dict[int, list[tuple[float, int, FusedGroup]]] = {}
    for members in chains(layers.workload):
        best = _best(layers, mapped, members)
        if best is not None:
            found.setdefault(members.start, []).append((best[0], members.stop, best[1]))
    count = len(layers.workload.layers)
    behind: list[tuple[float, tuple[FusedGroup, ...]]] = [(0.0, ())] * (count + 1)  # best from each layer on
    for first in reversed(range(count)):
        options = [behind[first + 1]]
        for gain, stop, group in found.get(first, ()):
            more, others = behind[stop]
            options.append((gain + more, (group, *others)))
        behind[first] = max(options, key=lambda option: option[0])
    return behind[0][1]


def _best(layers: FusingMapper, mapped: Mapped, members: range) -> tuple[float, FusedGroup] | None:
    """The group of these layers that spares most, and how much; None where none is worth it."""
    pairs = [(mapped.problems[index], mapped.mappings[index]) for index in members]
    if any(problem is None or problem.engine == "copy" for problem, _ in pairs):
        return None
    if any(layers.is_stated(index) for index in members):
        return None
    problems = [problem for problem, _ in pairs if problem is not None]
    apart = [price(p, m, layers.chip, layers.dtypes) for p, (_, m) in zip(problems, pairs, strict=True)]
    before = _Figure(sum(_cycles(each) for each in apart), sum(_energy(each) for each in apart))
    least = before.of(layers.objective) * (1 - WORTH)
    if layers.objective == "latency" and _floor(apart) >= least:
        return None
    best: tuple[float, FusedGroup] | None = None
    residency = _without(mapped.residency, layers, members)
    for group in _tried(layers, members, tuple(problem.engine for problem in problems), residency):
        together = _together(layers, group).of(layers.objective)
        if together < least:
            least, best = together, (before.of(layers.objective) - together, group)
    return best


def _tried(
    layers: FusingMapper, members: range, engines: tuple[str, ...], residency: Residency
) -> Iterator[FusedGroup]:
    for loops in shared_loops(layers.workload.layers[members[-1]]):
        try:
            yield fused(layers, Fusion(members, engines, loops), residency)
        except MappingError:
            continue


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


def _cycles(costs: Costs) -> float:
    return float(costs.cycles.flat[CELL])


def _energy(costs: Costs) -> float:
    return float(costs.energy_pj.flat[CELL])
