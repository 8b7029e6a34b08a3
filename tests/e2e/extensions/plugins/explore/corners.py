"""Corners first: the points at the ends of all axes, then the others in the order of the grid."""

from __future__ import annotations

from itertools import product

from archsim.lab.explore.problem import DesignProblem, SearchMethod, SingleBatch


def method(problem: DesignProblem) -> SearchMethod:
    """As many points as may be tried, corners before all others."""
    corners = list(dict.fromkeys(product(*((0, size - 1) for size in problem.shape))))
    others = [point for point in product(*map(range, problem.shape)) if point not in corners]
    return SingleBatch([*corners, *others][: problem.spent])
