"""What a sampling search has tried: it costs points and remembers the best."""

from __future__ import annotations

from functools import partial

from archsim.base.errors import ConfigError, MappingError
from mapper.looptree.cost import Cost, evaluate
from mapper.looptree.nest import Nest
from mapper.looptree.search import optimal
from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import Objective, better
from mapper.looptree.search.space import Space, check
from tests.oracles.sampling.grown import Point
from tests.oracles.sampling.point import Points

Key = tuple[float, float, float]
_STARTS = 100  # points tried for a first that is legal, before the branch and bound is asked for one


class Tried:
    """Points of a space that a search has tried within a budget, the best of them first of all legal."""

    def __init__(self, space: Space, objective: Objective, budget: Budget, seed: int) -> None:
        if budget.seconds is None and budget.evaluations is None:
            raise ConfigError("search: a sampling search needs a budget of evaluations or seconds")
        self.space, self.objective, self.budget = space, objective, budget
        self.points = Points(space, seed)
        self.evaluated = 0
        self.best: tuple[Key, Nest, Cost] | None = None

    @property
    def over(self) -> bool:
        """Whether the budget is used up."""
        return self.budget.over(self.evaluated)

    @property
    def spent(self) -> float:
        """Part of the budget that is used up, 0 to 1."""
        return self.budget.spent(self.evaluated)

    def cost(self, point: Point) -> tuple[Key, Point] | None:
        """Key of a point made to fit, and that point; None when it is not legal."""
        self.evaluated += 1
        fitted = self.points.fit(point)
        if fitted is None:
            return None
        point, nest = fitted
        try:
            check(nest, self.space)
        except MappingError:  # an axis that is not used as far as it must be, a tile that must be kept and cannot
            return None
        cost = evaluate(nest, self.space.hierarchy, self.space.convention)
        key = self.objective.key(cost.energy_j, cost.latency_s)
        if self.best is None or better(key, self.best[0]):
            self.best = key, nest, cost
        return key, point

    def first(self) -> tuple[Key, Point] | None:
        """A legal point to begin with: the least one, else any; None when trying has found none."""
        found = self.cost(self.points.least())
        while found is None and self.evaluated < _STARTS:
            found = self.cost(self.points.draw())
        return found

    def found(self) -> Found:
        """The best, of which nothing is proven. Raises MappingError with the reason when nothing fits."""
        if self.best is None:
            legal = optimal.search(self.space, self.objective, Budget(evaluations=0))
            key = self.objective.key(legal.cost.energy_j, legal.cost.latency_s)
            self.best = key, legal.nest, legal.cost
        key, nest, cost = self.best
        return Found(nest, cost, key[0], 0.0, self.evaluated, partial(optimal.size, self.space))
