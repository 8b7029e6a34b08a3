"""A genetic search (Holland 1975) over LoopTrees, steady state.

Two parents win tournaments; their child's neighbour takes the place of the worst when it is better.
"""

from __future__ import annotations

from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import Objective
from mapper.looptree.search.space import Space
from tests.oracles.sampling.grown import Point
from tests.oracles.sampling.tried import Key, Tried

POPULATION = 40
TOURNAMENT = 3  # of which the best becomes a parent
CROSSED = 0.5  # of the children; the others are changed copies

Member = tuple[Key, Point]


def search(space: Space, objective: Objective, budget: Budget, seed: int = 0) -> Found:
    """The best within a budget; the same for a seed when the budget is in evaluations.

    Raises MappingError with the reason when nothing fits, ConfigError when the budget has no limit.
    """
    tried = Tried(space, objective, budget, seed)
    first = tried.first()
    members = [first] if first else []
    while not tried.over:
        growing = len(members) < POPULATION and (not members or tried.spent < 0.5)
        member = tried.cost(tried.points.draw() if growing else _child(tried, members))
        if member is None or any(member[0] == other[0] for other in members):
            continue
        members.append(member)
        members.sort(key=lambda each: each[0])
        del members[POPULATION:]
    return tried.found()


def _child(tried: Tried, members: list[Member]) -> Point:
    generator = tried.points.generator
    child = _parent(tried, members)
    if generator.random() < CROSSED:
        child = tried.points.cross(child, _parent(tried, members))
    return tried.points.neighbour(child)


def _parent(tried: Tried, members: list[Member]) -> Point:
    return members[min(tried.points.generator.randrange(len(members)) for _ in range(TOURNAMENT))][1]
