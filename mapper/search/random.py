"""One legal mapping drawn at random from the stated space: what a verification campaign and a baseline need."""

from __future__ import annotations

import random
from collections.abc import Mapping

from mapper.cost.chip_rates import ChipCosts
from mapper.problem.constraints import FREE, Rules
from mapper.problem.problem import Problem
from mapper.search.space import Choice, choice
from mapper.search.templates import open_space


def search(
    problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str, rules: Rules = FREE, seed: str = ""
) -> Choice:
    """A legal mapping, whatever the objective: an order and Keeps drawn evenly, then a cell drawn evenly from those
    that fit and obey.

    Raises MappingError naming tensor, level, needs and has when nothing fits.
    """
    draw = random.Random(f"{seed}/{problem.layer.name}")
    space = open_space(problem, chip, dtypes, rules)
    templates = space.templates()
    draw.shuffle(templates)
    for template in templates:
        cells = space.legal(template)
        if cells.size:
            drawn = cells[[draw.randrange(cells.size)]]
            costs = space.costs(template, drawn)
            return choice(template.cell(int(drawn[0])), costs, 0, template.grid.size, 1, "drawn at random")
    raise space.empty()
