"""Exhaustive search of the stated space: the best cell by the objective.

Ties fall to the next figure: latency, energy, EDP each followed by the others, then fewer moves, fewer bytes held,
first in order.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from archsim.errors import MappingError
from mapper.cost import Costs, evaluate
from mapper.costs import ChipCosts
from mapper.grid import build_grid
from mapper.problem import Problem
from mapper.search.space import ORDERS, Cell, Choice, choice, depth_choices, feasible, reason
from mapper.work import work


def search(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str) -> Choice:
    """Best mapping of the problem; raises MappingError naming tensor, level, needs and has when nothing fits."""
    grid = build_grid(problem, chip.architecture)
    legal = feasible(grid)
    if not legal.any():
        raise MappingError(reason(grid, chip.architecture))
    done = work(grid, chip, dtypes, legal)
    best: tuple[tuple[float, ...], Cell] | None = None
    space = evaluated = 0
    for order in ORDERS:
        for kept in depth_choices(grid, order):
            costs = evaluate(grid, chip, done, order, kept)
            space += costs.cycles.size
            evaluated += int(np.isfinite(costs.cycles).sum())
            key, index = _best_cell(costs, objective)
            if np.isfinite(key[0]) and (best is None or key < best[0]):
                best = (key, Cell(index, order, kept, costs))
    if best is None:
        raise MappingError(reason(grid, chip.architecture))
    return choice(grid, best[1], space, evaluated, "optimal in the stated space")


def _best_cell(costs: Costs, objective: str) -> tuple[tuple[float, ...], tuple[int, ...]]:
    product_ = costs.cycles * costs.energy_pj
    ranked = {
        "latency": (costs.cycles, costs.energy_pj),
        "energy": (costs.energy_pj, costs.cycles),
        "edp": (product_, costs.cycles),
    }[objective]
    keys = [np.ravel(key) for key in (*ranked, costs.commands, costs.held)]
    index = int(np.lexsort(keys[::-1])[0])
    cell = tuple(int(i) for i in np.unravel_index(index, costs.cycles.shape))
    return tuple(float(key[index]) for key in keys), cell
