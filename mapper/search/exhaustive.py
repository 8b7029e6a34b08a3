"""Exhaustive search of the stated space: the best cell by the objective, and all cells in order of their bounds.

Ties fall to the next figure: latency, energy, EDP each followed by the others, then fewer moves, fewer bytes held,
first in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from archsim.ir.mapping import MapNode
from mapper.constrain import FREE, Rules
from mapper.cost import Costs
from mapper.costs import ChipCosts
from mapper.grid import Reals
from mapper.problem import Problem
from mapper.search.space import Cell, Choice, choice
from mapper.search.templates import Space, open_space

OPTIMAL = "optimal in the stated space"


def search(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str, rules: Rules = FREE) -> Choice:
    """Best mapping of the problem; raises MappingError naming tensor, level, needs and has when nothing fits."""
    return best(open_space(problem, chip, dtypes, rules), objective)


def best(space: Space, objective: str) -> Choice:
    """Best mapping of a space; raises MappingError as ``search``."""
    found: tuple[tuple[float, ...], Cell] | None = None
    size = evaluated = 0
    for template, costs in space.templates():
        size += costs.cycles.size
        evaluated += int(np.isfinite(costs.cycles).sum())
        key, index = _best_cell(costs, objective)
        if np.isfinite(key[0]) and (found is None or key < found[0]):
            found = (key, template.cell(index, costs))
    if found is None:
        raise space.empty()
    return choice(found[1], size, evaluated, OPTIMAL)


def candidates(space: Space, objective: str, by: str = "bound") -> Iterator[Choice]:
    """Distinct mappings of a space, the least first by the objective's figures with ``by`` (bound | cycles) as latency.

    Templates are costed at the first step; a mapping is made when it is asked for.
    """
    templates = [found for found in space.templates() if np.isfinite(found[1].cycles).any()]
    figures = [_figures(costs, objective, by) for _, costs in templates]
    columns = (
        [np.concatenate([np.ravel(found[i]) for found in figures]) for i in range(len(figures[0]))] if figures else []
    )
    if not columns:
        return
    legal = int(np.isfinite(columns[0]).sum())
    starts = np.cumsum([0, *(costs.cycles.size for _, costs in templates)])
    seen: set[tuple[MapNode, ...]] = set()
    for position in np.lexsort(columns[::-1])[:legal]:
        number = int(np.searchsorted(starts, position, side="right")) - 1
        template, costs = templates[number]
        index = np.unravel_index(int(position - starts[number]), costs.cycles.shape)
        cell = template.cell(tuple(int(i) for i in index), costs)
        made = choice(cell, int(starts[-1]), legal, OPTIMAL)
        if made.mapping.nodes not in seen:
            seen.add(made.mapping.nodes)
            yield made


def _best_cell(costs: Costs, objective: str) -> tuple[tuple[float, ...], tuple[int, ...]]:
    keys = [np.ravel(key) for key in _figures(costs, objective, "cycles")]
    index = _first(keys)
    cell = tuple(int(i) for i in np.unravel_index(index, costs.cycles.shape))
    return tuple(float(key[index]) for key in keys), cell


def _first(keys: list[Reals]) -> int:
    """Index of the lexicographically least entry, the first of equals."""
    left = np.flatnonzero(keys[0] == keys[0].min())
    for key in keys[1:]:
        values = key[left]
        left = left[values == values.min()]
    return int(left[0])


def _figures(costs: Costs, objective: str, by: str) -> tuple[Reals, ...]:
    cycles: Reals = getattr(costs, by)
    if objective == "latency":
        return cycles, costs.energy_pj, costs.commands, costs.held
    first = costs.energy_pj if objective == "energy" else cycles * costs.energy_pj
    return first, cycles, costs.commands, costs.held
