"""Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983) over LoopTrees.

A step to a worse neighbour is taken with the probability (old / new) ** (1 / temperature); the temperature falls
geometrically as the budget is spent. The walk begins at the best of the first draws.
"""

from __future__ import annotations

from math import exp, log

from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import Objective
from mapper.looptree.search.space import Space
from tests.oracles.sampling.tried import Key, Tried

HOT, COLD = 0.3, 0.003  # temperatures, of relative differences: 30 % worse and 0.3 % worse are taken once in e times
DRAWS = 0.05  # of the budget, for a beginning


def search(space: Space, objective: Objective, budget: Budget, seed: int = 0) -> Found:
    """The best within a budget; the same for a seed when the budget is in evaluations.

    Raises MappingError with the reason when nothing fits, ConfigError when the budget has no limit.
    """
    tried = Tried(space, objective, budget, seed)
    now = tried.first()
    while not tried.over:
        if now is None or tried.spent < DRAWS:
            drawn = tried.cost(tried.points.draw())
            if drawn and (now is None or drawn[0] < now[0]):
                now = drawn
            continue
        step = tried.cost(tried.points.neighbour(now[1]))
        if step and tried.points.generator.random() < _chance(now[0], step[0], tried.spent):
            now = step
    return tried.found()


def _chance(old: Key, new: Key, spent: float) -> float:
    if new <= old:
        return 1.0
    temperature = HOT * (COLD / HOT) ** spent
    return exp(-log(new[0] / old[0]) / temperature) if old[0] > 0 else 0.0
