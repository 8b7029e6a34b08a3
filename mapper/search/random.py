"""One legal mapping drawn at random from the stated space: what a verification campaign and a baseline need."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np

from archsim.errors import MappingError
from mapper.cost import evaluate
from mapper.costs import ChipCosts
from mapper.grid import build_grid
from mapper.problem import Problem
from mapper.search.space import ORDERS, Cell, Choice, choice, depth_choices, feasible, reason
from mapper.work import work


def search(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], seed: str) -> Choice:
    """A legal mapping: an order and Keeps drawn evenly, then a cell drawn evenly from those that fit.

    Raises MappingError naming tensor, level, needs and has when nothing fits.
    """
    draw = random.Random(f"{seed}/{problem.layer.name}")
    grid = build_grid(problem, chip.architecture)
    legal = feasible(grid)
    if not legal.any():
        raise MappingError(reason(grid, chip.architecture))
    done = work(grid, chip, dtypes, legal)
    templates = [(order, kept) for order in ORDERS for kept in depth_choices(grid, order)]
    draw.shuffle(templates)
    for order, kept in templates:
        costs = evaluate(grid, chip, done, order, kept)
        fits = np.flatnonzero(np.isfinite(costs.cycles))
        if fits.size:
            index = np.unravel_index(int(fits[draw.randrange(fits.size)]), costs.cycles.shape)
            cell = Cell(tuple(int(i) for i in index), order, kept, costs)
            return choice(grid, cell, int(costs.cycles.size), 1, "drawn at random")
    raise MappingError(reason(grid, chip.architecture))
