"""Every point of the grid."""

from __future__ import annotations

from itertools import product

from archsim.lab.explore.problem import DesignProblem, SearchMethod, SingleBatch


def method(problem: DesignProblem) -> SearchMethod:
    """All points, however many trials."""
    return SingleBatch(list(product(*map(range, problem.shape))))
