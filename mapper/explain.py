"""What bounds the mapping of one layer, what came second and why it lost: the figures that the search ranked by.

And what no LoopTree of the layer could undercut, whatever the compiler knows how to lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice

from archsim.base.errors import MappingError
from archsim.ir.mapping import LayerMapping
from mapper.given.priced import CELL, price
from mapper.layers import Layers
from mapper.looptree.bound import Bounds, bounds
from mapper.lower.model import Mapped
from mapper.problem.problem import Problem
from mapper.search import exhaustive
from mapper.search.templates import open_space
from mapper.search.ties import Alike


@dataclass(frozen=True)
class Figures:
    """A mapping and what it is ranked by.

    ``alone_cycles``: what it is expected to take where no other layer runs before it; ``energy_pj``: of what the units
    do and of all accesses to memories, ``accesses_pj`` of these alone; ``commands``: moves, and what the units do with
    tiles; ``held_bytes``: of all rings; ``resources``: cycles that each engine and port needs, the largest is the
    latency; ``adding``: cores with partial sums of the same outputs, and the collective that adds them up, (1, '')
    where no reduction is spread; ``alike``: what differs by too little to count.
    """

    mapping: LayerMapping
    alone_cycles: int
    energy_pj: float
    accesses_pj: float
    commands: int
    held_bytes: int
    resources: Mapping[str, float]
    adding: tuple[int, str] = (1, "")
    alike: Alike = Alike(spread=False)

    @property
    def cycles(self) -> int:
        """The mapping's expected ones."""
        return self.mapping.expected_cycles

    @property
    def bounded_by(self) -> str:
        """The resource that needs most cycles."""
        return max(self.resources, key=lambda name: self.resources[name])

    def ranked(self, objective: str) -> tuple[tuple[str, float], ...]:
        """(name, figure) in the order in which mappings are compared."""
        cycles, energy = ("cycles", float(self.cycles)), ("energy", self.energy_pj)
        first = {
            "latency": (cycles, energy),
            "energy": (energy, cycles),
            "edp": (("cycles x energy", self.cycles * self.energy_pj), cycles),
        }[objective]
        return (*first, ("commands", float(self.commands)), ("bytes held", float(self.held_bytes)))


def figures(layers: Layers, problem: Problem, mapping: LayerMapping) -> Figures:
    """Figures of any mapping of a problem."""
    costs = price(problem, mapping, layers.chip, layers.dtypes)
    return Figures(
        replace(mapping, bound_cycles=int(costs.bound[CELL]), expected_cycles=int(costs.cycles[CELL])),
        int(costs.alone_cycles[CELL]),
        float(costs.energy_pj[CELL]),
        float(costs.accesses_pj[CELL]),
        int(costs.commands[CELL]),
        int(costs.held[CELL]),
        {name: float(cycles.flat[0]) for name, cycles in costs.terms.items()},
        (problem.adders, costs.ways[CELL] if problem.adders > 1 else ""),
        Alike(problem.spread is not None, costs.floor),
    )


def runner_up(layers: Layers, mapped: Mapped, index: int) -> Figures | None:
    """The best mapping beside the one that was chosen, on any engine; None where the space has no other."""
    chosen, objective = mapped.mappings[index], layers.options.objective
    found: list[Figures] = []
    for problem, rules in layers.searched(index, mapped.residency):
        try:
            space = open_space(problem, layers.chip, layers.dtypes, rules)
        except MappingError:
            continue  # tiles of a menu that do not fit; one fitted
        for choice in islice(exhaustive.candidates(space, objective), 2):
            if (choice.mapping.unit, choice.mapping.nodes) != (chosen.unit, chosen.nodes):
                found.append(figures(layers, problem, choice.mapping))
    return min(found, key=lambda other: [value for _, value in other.ranked(objective)], default=None)


def least(layers: Layers, problem: Problem) -> Bounds | str:
    """The least figures of any LoopTree of a problem, or in a phrase why there are none.

    Of constraints ``spatial`` alone is honoured.
    """
    if problem.layer.kind != "matmul":
        return "the layer is no matmul"
    if problem.spread is not None:
        return "the layer is spread over cores, and a bound of one core's part is none of other spreads"
    if problem.engine != "array":
        return f"the layer runs on '{problem.unit}', which is no array"
    if problem.made:
        return "its factors are converted on their way, which no bound knows"
    try:
        unspread = frozenset(layers.rules[problem.layer.name].on(problem.engine).unspread)
        return bounds(problem, layers.chip, layers.dtypes, unspread=unspread)
    except MappingError as error:
        return str(error)
