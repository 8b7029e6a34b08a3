"""The best of LoopTrees drawn anywhere in a space: the baseline of the other searches."""

from __future__ import annotations

from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import Objective
from mapper.looptree.search.space import Space
from tests.oracles.sampling.tried import Tried


def search(space: Space, objective: Objective, budget: Budget, seed: int = 0) -> Found:
    """The best within a budget; the same for a seed when the budget is in evaluations.

    Raises MappingError with the reason when nothing fits, ConfigError when the budget has no limit.
    """
    tried = Tried(space, objective, budget, seed)
    tried.first()
    while not tried.over:
        tried.cost(tried.points.draw())
    return tried.found()
