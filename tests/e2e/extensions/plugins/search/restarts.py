"""Random restarts: the best of several legal mappings that are drawn one after the other."""

from __future__ import annotations

import random
from collections.abc import Mapping

from mapper.cost.chip_rates import ChipCosts
from mapper.problem.constraints import Rules
from mapper.problem.problem import Problem
from mapper.search.space import Choice
from mapper.search.templates import open_space

from ._drawing import drawn

RESTARTS = 12


def search(
    problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str, rules: Rules, seed: str
) -> Choice:
    """The best of RESTARTS mappings by cycles, energy or their product; equal seeds draw equal ones."""
    draw, space = random.Random(f"{seed}/{problem.layer.name}"), open_space(problem, chip, dtypes, rules)
    legal = [template for template in space.templates() if space.legal(template).size]
    if not legal:
        raise space.empty()

    def rank(found: Choice) -> tuple[float, float]:
        cycles, energy = found.mapping.expected_cycles, found.energy_pj
        return {"latency": (cycles, energy), "energy": (energy, cycles), "edp": (cycles * energy, cycles)}[objective]

    return min((drawn(draw, space, legal, f"best of {RESTARTS} drawn") for _ in range(RESTARTS)), key=rank)
