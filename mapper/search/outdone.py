"""Whether a layer is worth a search on the vector unit, once it is known what others of its mappings take.

A product that fills an array takes many times as long in lanes, and in lanes its tiles may have any extent, so that
this search would be the longest of all. How long the lanes work is known before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid_cost import Costs, operations_pj
from mapper.cost.least_work import product_in_lanes
from mapper.problem.problem import Problem
from mapper.search.ranking import ENERGY, PRODUCT, RANKED_BY, ranked
from mapper.search.ties import Alike


def outdone(problem: Problem, chip: ChipCosts, objective: str, others: Sequence[Costs]) -> bool:
    """Whether no mapping of a product in lanes can be alike to the best of the ``others``, since the lanes alone are
    busy too long; False on any other engine."""
    if problem.engine != "vector" or not problem.accumulates or not others:
        return False
    name = RANKED_BY[objective][0]
    best = min(float(np.min(ranked(costs, objective).figure(name))) for costs in others)
    return _least(problem, chip, name) > Alike(problem.spread is not None).most(name, best)


def _least(problem: Problem, chip: ChipCosts, name: str) -> float:
    """A figure (cycles | energy | cycles x energy) that no mapping undercuts."""
    cores = problem.spread.cores if problem.spread is not None else 1
    cycles = product_in_lanes(problem, chip) / cores
    if name not in (ENERGY, PRODUCT):
        return cycles
    energy = operations_pj(problem, chip) + cycles * chip.standing_pj
    return energy if name == ENERGY else cycles * energy
