"""TPE (Bergstra et al., NeurIPS 2011; with several goals Ozaki et al., JAIR 73, 2022): the densities of good and of
other points are learned, over all axes together; asked for is what is likely among the good, unlikely among the others.

Points of a batch that are under way count as bad ones (a constant liar), so that a batch does not ask for one place.
The first points are a Sobol sequence.
"""

from __future__ import annotations

from archsim.lab.explore import qmc
from archsim.lab.explore.learner import Learner, check_installed
from archsim.lab.explore.problem import DesignProblem, SearchMethod

BATCH = 8  # points: what a machine simulates at a time
FIRST = 16  # points before it learns


def method(problem: DesignProblem) -> SearchMethod:
    """Batches of a fixed size. Raises ConfigError where Optuna is missing."""
    check_installed("tpe")
    from optuna.samplers import TPESampler

    sampler = TPESampler(seed=problem.seed, n_startup_trials=FIRST, multivariate=True, constant_liar=True)
    return Learner(problem, sampler, BATCH, qmc.points(problem, FIRST))
