"""Methods that learn: an Optuna sampler asked for a batch of points, told what came of them, asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from archsim.base.errors import ConfigError
from archsim.lab.explore.problem import Choices, DesignProblem, PointOutcome

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler


def check_installed(method: str) -> None:
    """Raises ConfigError where Optuna is not there for ``method``."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"search.method: {method} needs Optuna: pip install 'archsim[search]'; grid, qmc and random need nothing"
        ) from None


class Learner:
    """A ``Method`` by a ``sampler`` of Optuna, ``batch`` points at a time, of which it is given the ``first`` ones.

    No point is asked for twice: a sampler that has no other in so many ``attempts`` is given the nearest one.
    """

    def __init__(
        self, problem: DesignProblem, sampler: BaseSampler, batch: int, first: Sequence[Choices] = (), attempts: int = 1
    ) -> None:
        self._problem, self._size, self._first, self._attempts = problem, batch, list(first), attempts
        self._axes = {str(axis): _distribution(*each) for axis, each in enumerate(_each(problem))}
        self._study = _study(problem.goals, sampler)
        self._chance = np.random.default_rng(problem.seed)
        self._asked: set[Choices] = set()
        self._batch: list[Trial] = []

    def ask(self) -> list[Choices]:
        """See ``SearchMethod.ask``."""
        self._batch = []
        asked = []
        for _ in range(min(self._size, self._problem.spent - len(self._asked))):
            trial, choices = self._next()
            self._batch.append(trial)
            self._asked.add(choices)
            asked.append(choices)
        return asked

    def tell(self, outcomes: Sequence[PointOutcome]) -> None:
        """See ``SearchMethod.tell``. A point without costs is pruned: further from what is allowed than any other."""
        from optuna.trial import TrialState

        for trial, outcome in zip(self._batch, outcomes, strict=True):
            possible = outcome.costs is not None
            for number, violation in enumerate(outcome.violations if possible else (float("inf"),)):
                trial.set_constraint(str(number), violation)
            self._study.tell(trial, outcome.costs, None if possible else TrialState.PRUNED)

    def _next(self) -> tuple[Trial, Choices]:
        """A trial of a point that was not asked for."""
        from optuna.trial import TrialState

        if self._first:
            return self._trial(self._first.pop(0))
        for _ in range(self._attempts):
            trial, choices = self._trial()
            if choices not in self._asked:
                return trial, choices
            self._study.tell(trial, state=TrialState.FAIL)
        return self._trial(self._nearest(choices))

    def _trial(self, choices: Choices | None = None) -> tuple[Trial, Choices]:
        """A trial of a point, of the sampler's own choice if absent."""
        if choices is not None:
            self._study.enqueue_trial(dict(zip(self._axes, choices, strict=True)))
        trial = self._study.ask(self._axes)
        return trial, tuple([int(trial.params[axis]) for axis in self._axes])

    def _nearest(self, choices: Choices) -> Choices:
        """One of the points not asked for that are the fewest steps away."""
        ring, seen = [choices], {choices}
        while not (found := [point for point in ring if point not in self._asked]):
            ring = list(dict.fromkeys(step for point in ring for step in self._steps(point) if step not in seen))
            seen.update(ring)
        return found[int(self._chance.integers(len(found)))]

    def _steps(self, point: Choices) -> Iterator[Choices]:
        """Points beside a point: one further on an ordered axis, any other value of one that is not."""
        for axis, (size, ordered) in enumerate(_each(self._problem)):
            own = point[axis]
            others: Iterable[int] = (own - 1, own + 1) if ordered else range(size)
            for other in others:
                if 0 <= other < size and other != own:
                    yield (*point[:axis], other, *point[axis + 1 :])


def _each(problem: DesignProblem) -> Iterator[tuple[int, bool]]:
    """Size of each axis, and whether it is ordered."""
    return zip(problem.shape, problem.ordered, strict=True)


def _distribution(size: int, ordered: bool) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    return IntDistribution(0, size - 1) if ordered else CategoricalDistribution(range(size))


def _study(goals: int, sampler: BaseSampler) -> Study:
    """A study in memory, which says nothing."""
    import optuna

    said = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(directions=["minimize"] * goals, sampler=sampler)
    finally:
        optuna.logging.set_verbosity(said)
