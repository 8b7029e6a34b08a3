"""Points drawn at random, without repetition."""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.lab.explore.problem import DesignProblem, SearchMethod, SingleBatch


def method(problem: DesignProblem) -> SearchMethod:
    """Each set of points is as likely as any other."""
    drawn = np.random.default_rng(problem.seed).choice(prod(problem.shape), problem.spent, replace=False)
    return SingleBatch(list(zip(*(axis.tolist() for axis in np.unravel_index(drawn, problem.shape)), strict=True)))
