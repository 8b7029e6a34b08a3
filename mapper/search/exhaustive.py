"""Exhaustive search of the stated space: the best cell by the objective, and all cells in order of their bounds.

Ties fall to the next figure: latency, energy, EDP each followed by the others, then fewer moves, fewer bytes held,
first in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from archsim.ir.mapping import MapNode
from mapper.constrain import FREE, Rules
from mapper.cost import Costs
from mapper.costs import ChipCosts
from mapper.grid import Reals
from mapper.problem import Problem
from mapper.search.space import Cell, Choice, choice
from mapper.search.templates import Space, Template, open_space

OPTIMAL = "optimal in the stated space"


def search(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str, rules: Rules = FREE) -> Choice:
    """Best mapping of the problem; raises MappingError naming tensor, level, needs and has when nothing fits."""
    return best(open_space(problem, chip, dtypes, rules), objective)


def best(space: Space, objective: str) -> Choice:
    """Best mapping of a space; raises MappingError as ``search``."""
    found: tuple[tuple[float, ...], Cell] | None = None
    size = evaluated = 0
    for template, costs in space.templates():
        size += template.grid.size
        evaluated += costs.cells.size
        if not costs.cells.size or (found is not None and _loses(costs, objective, found[0][0])):
            continue
        key, position = _best_cell(costs, objective)
        if found is None or key < found[0]:
            found = (key, template.cell(position, costs))
    if found is None:
        raise space.empty()
    return choice(found[1], size, evaluated, _proof(space.problem))


def candidates(space: Space, objective: str, by: str = "bound") -> Iterator[Choice]:
    """Distinct mappings of a space, the least first by the objective's figures with ``by`` (bound | cycles) as latency.

    Templates are costed at the first step; a mapping is made when it is asked for.
    """
    templates, figures = list[Template](), list[tuple[Reals, ...]]()
    size = 0
    for template, costs in space.templates():
        if costs.cells.size:
            size += template.grid.size
            templates.append(template)
            figures.append(tuple(figure() for figure in _figures(costs, objective, by)))
    if not templates:
        return
    columns = [np.concatenate(column) for column in zip(*figures, strict=True)]
    starts = np.cumsum([0, *(len(found[0]) for found in figures)])
    seen: set[tuple[MapNode, ...]] = set()
    for place in np.lexsort(columns[::-1]):
        number = int(np.searchsorted(starts, place, side="right")) - 1
        cell = templates[number].cell(int(place - starts[number]), space.costs(templates[number]))
        made = choice(cell, size, len(columns[0]), _proof(space.problem))
        if made.mapping.nodes not in seen:
            seen.add(made.mapping.nodes)
            yield made


def _proof(problem: Problem) -> str:
    """What an exhaustive search has shown: of other spreads over cores nothing."""
    return OPTIMAL if problem.spread is None else f"{OPTIMAL} among those of this spread over cores"


def _loses(costs: Costs, objective: str, best: float) -> bool:
    """Whether no cell comes near the first figure of the best so far."""
    if objective == "latency" and costs.floor > best:
        return True
    return bool(_figures(costs, objective, "cycles")[0]().min() > best)


def _best_cell(costs: Costs, objective: str) -> tuple[tuple[float, ...], int]:
    """The lexicographically least figures of the cells and where they are, the first of equals."""
    left, key = np.arange(costs.cells.size), list[float]()
    for figure in _figures(costs, objective, "cycles"):
        values = figure()[left]
        key.append(float(values.min()))
        left = left[values == key[-1]]
    return tuple(key), int(left[0])


def _figures(costs: Costs, objective: str, by: str) -> tuple[Callable[[], Reals], ...]:
    """What cells are ranked by, the first figure first, each worked out when it is called."""

    def cycles() -> Reals:
        found: Reals = getattr(costs, by)
        return found

    def product() -> Reals:
        return cycles() * costs.energy_pj

    def energy() -> Reals:
        return costs.energy_pj

    first = {"latency": (cycles, energy), "energy": (energy, cycles), "edp": (product, cycles)}[objective]
    return (*first, lambda: costs.commands, lambda: costs.held)
