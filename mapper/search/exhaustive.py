"""Exhaustive search of the stated space: the best cell by the objective, and all cells in order of their bounds.

Ties fall to the next figure: latency, energy, EDP each followed by the others, then fewer commands, fewer bytes held,
first in order. Of layers that are spread over cores figures are alike that are near (``alike``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf

import numpy as np

from archsim.ir.mapping import MapNode
from mapper.constrain import FREE, Rules
from mapper.cost import Costs
from mapper.costs import ChipCosts
from mapper.grid import Reals
from mapper.problem import Problem
from mapper.search.alike import Alike, first
from mapper.search.space import Choice, choice
from mapper.search.templates import Space, Template, open_space

OPTIMAL = "optimal in the stated space"
PRODUCT = "cycles x energy"


def search(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str, rules: Rules = FREE) -> Choice:
    """Best mapping of the problem; raises MappingError naming tensor, level, needs and has when nothing fits."""
    return best(open_space(problem, chip, dtypes, rules), objective)


def best(space: Space, objective: str) -> Choice:
    """Best mapping of a space; raises MappingError as ``search``."""
    size, evaluated, contenders = _contenders(space, objective)
    if not contenders:
        raise space.empty()
    position = best_of([costs for _, costs in contenders], objective)
    for template, costs in contenders:
        if position < costs.cells.size:
            return choice(template.cell(position, costs), size, evaluated, _proof(space.problem))
        position -= costs.cells.size
    raise AssertionError("a cell beyond all templates")


def _contenders(space: Space, objective: str) -> tuple[int, int, list[tuple[Template, Costs]]]:
    """Cells in the space and those that are legal; by template those that may be alike to the best by the first figure.

    How much its units work at least is known when all templates have been seen: so much as if it were nothing.
    """
    found, least, alike = list[tuple[Template, Costs]](), inf, Alike(space.problem.spread is not None)
    size = evaluated = 0
    for template, costs in space.templates():
        size += template.grid.size
        evaluated += costs.cells.size
        if not costs.cells.size or (objective == "latency" and costs.floor > alike.most("cycles", least)):
            continue
        name, figure = next(iter(_figures(costs, objective, "cycles").items()))
        values = figure()
        least = min(least, float(values.min()))
        if (near := values <= alike.most(name, least)).any():
            found.append((template, costs.where(near)))
    return size, evaluated, found


def best_of(found: Sequence[Costs], objective: str) -> int:
    """Where the best cell of several costs of one layer stands, in all of them one after the other."""
    figures = [_figures(costs, objective, "cycles") for costs in found]
    joined = {name: partial(_joined, [each[name] for each in figures]) for name in figures[0]}
    return first(joined, Alike(found[0].problem.spread is not None, min(costs.floor for costs in found)))


def _joined(figures: Sequence[Callable[[], Reals]]) -> Reals:
    return np.concatenate([figure() for figure in figures])


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
            figures.append(tuple(figure() for figure in _figures(costs, objective, by).values()))
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


def _figures(costs: Costs, objective: str, by: str) -> dict[str, Callable[[], Reals]]:
    """What cells are ranked by, the first figure first, each worked out when it is called."""

    def cycles() -> Reals:
        found: Reals = getattr(costs, by)
        return found

    named = {"cycles": cycles, "energy": lambda: costs.energy_pj, PRODUCT: lambda: cycles() * costs.energy_pj}
    order = {"latency": ("cycles", "energy"), "energy": ("energy", "cycles"), "edp": (PRODUCT, "cycles")}[objective]
    counted = {"commands": lambda: costs.commands, "bytes held": lambda: costs.held}
    return {name: named[name] for name in order} | counted
