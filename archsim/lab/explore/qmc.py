"""Points of a scrambled Sobol sequence, which spread evenly over all axes."""

from __future__ import annotations

from collections.abc import Iterator

from archsim.lab.explore.problem import Choices, DesignProblem, SearchMethod, SingleBatch

AT_A_TIME = 64  # points of the sequence, a power of two as it wants


def method(problem: DesignProblem) -> SearchMethod:
    """The first points of the sequence."""
    return SingleBatch(points(problem, problem.spent))


def points(problem: DesignProblem, wanted: int) -> list[Choices]:
    """So many points, no more than there are, in the order of the sequence; what is the same point of the grid again is
    left out."""
    wanted = min(wanted, problem.spent)
    found: dict[Choices, None] = {}
    for choices in _sobol(problem.shape, problem.seed):
        found[choices] = None
        if len(found) == wanted:
            break
    return list(found)


def _sobol(shape: tuple[int, ...], seed: int) -> Iterator[Choices]:
    """Choices without end."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(len(shape), scramble=True, rng=seed)
    while True:
        for place in sequence.random(AT_A_TIME):
            yield tuple([int(part * size) for part, size in zip(place.tolist(), shape, strict=True)])
