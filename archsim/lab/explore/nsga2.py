"""NSGA-II (Deb et al., IEEE Trans. Evol. Comp. 6(2), 2002): a population improves by selection, crossover and mutation.

As many generations as a generation has points: with few trials a larger population has no time to improve, a smaller
one does not hold a front. The first generation is a Sobol sequence. Choices on ordered axes mutate to near ones (the
polynomial mutation of the same paper), others to any. Impossible points are no members of a generation. Children that
are points known already are made anew; a population that has no others is near its end, and looks around itself.
"""

from __future__ import annotations

import warnings
from math import isqrt
from typing import TYPE_CHECKING

from archsim.lab.explore import qmc
from archsim.lab.explore.learner import Learner, check_installed
from archsim.lab.explore.problem import DesignProblem, SearchMethod

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

LEAST = 8  # members of a generation
ATTEMPTS = 16  # of a child to be a new point
ETA = 5.0  # index of the mutation: the mean step is 1 / (ETA + 2) of an axis, about one choice where there are seven


def method(problem: DesignProblem) -> SearchMethod:
    """Batches are generations. Raises ConfigError where Optuna is missing."""
    check_installed("nsga2")
    members = max(LEAST, isqrt(problem.spent))
    return Learner(problem, _sampler(problem.seed, members), members, qmc.points(problem, members), ATTEMPTS)


def _sampler(seed: int, members: int) -> BaseSampler:
    from optuna import Study
    from optuna.exceptions import ExperimentalWarning
    from optuna.samplers import NSGAIISampler
    from optuna.samplers.nsgaii import PolynomialMutation
    from optuna.trial import FrozenTrial

    class Generations(NSGAIISampler):
        """Trials of stated points belong to the generation in which they are asked for, too."""

        def before_trial(self, study: Study, trial: FrozenTrial) -> None:
            super().before_trial(study, trial)
            self.get_trial_generation(study, trial)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return Generations(population_size=members, mutation=PolynomialMutation(ETA), seed=seed)
