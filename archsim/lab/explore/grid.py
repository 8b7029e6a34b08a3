"""Every point of the grid."""

from __future__ import annotations

from itertools import product

from archsim.lab.explore.problem import Method, Once, Problem


def method(problem: Problem) -> Method:
    """All points, however many trials."""
    return Once(list(product(*map(range, problem.shape))))
