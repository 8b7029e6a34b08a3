"""The least time that engines need for layers, each of which runs on one of several, however they are spread.

An array's work is that of the whole layer as one command; commands for parts of it take no less in sum. Its sums the
vector unit drains, which does other layers, and products too, in lanes, whose sums it drains as well. Whatever weights
are given to the time of both, the longer is at least their weighted mean: of all weights those are taken for which the
least mean is largest. That is the least of a linear program in which layers may be split between engines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, prod
from typing import NamedTuple

import numpy as np

from mapper.cost.chip_rates import ChipCosts, drain_steps, fold_function, vector_time
from mapper.cost.least_work import in_lanes, on_array, product_in_lanes
from mapper.problem.operands import OUT
from mapper.problem.problem import Problem


class EngineTime(NamedTuple):
    """Reference cycles of the array and of the vector unit of a core, all cores sharing alike."""

    array: float
    vector: float


def least_time(problem: Problem, chip: ChipCosts) -> EngineTime:
    """What a layer takes at least on the engine of the problem, which is not spread."""
    cores = chip.architecture.cores
    if problem.engine == "array":
        return EngineTime(_folded(problem, chip) / cores, _drained(problem, chip) / cores)
    if problem.engine == "vector":
        return EngineTime(0.0, _computed(problem, chip) / cores)
    return EngineTime(0.0, 0.0)


def _folded(problem: Problem, chip: ChipCosts) -> float:
    """A layer with bounds takes at least its points at the array's peak: tiles outside of them are left out."""
    if problem.layer.bounds:
        return on_array(problem, chip)
    array = next(part for part in chip.architecture.arrays if part.name == problem.unit)
    cycles, *_ = fold_function(chip, problem.layer, array, problem.pair)(tuple(problem.dims.items()))
    return cycles / chip.scale(array)


def _drained(problem: Problem, chip: ChipCosts) -> float:
    """What the vector unit does with the results, as one command; of a layer with bounds some may never be made."""
    unit = next((part for part in chip.architecture.vectors if part.name == problem.vector), None)
    if unit is None or problem.layer.bounds:
        return 0.0
    out, work = problem.operand(OUT), drain_steps(problem.layer)
    return vector_time(prod(problem.dims[dim] for dim in out.dims), work, unit, out.dtype) / chip.scale(unit)


def _computed(problem: Problem, chip: ChipCosts) -> float:
    if problem.accumulates:
        return product_in_lanes(problem, chip) + _drained(problem, chip)
    return in_lanes(problem, chip, problem.layer.points)


def least_of_both(layers: Iterable[tuple[Sequence[EngineTime], int]]) -> float:
    """The least that the longer of both engines works; ``layers``: what each may take, and how many there are alike."""
    known = list(layers)
    array, vector = (_table([[getattr(way, name) for way in ways] for ways, _ in known]) for name in EngineTime._fields)
    times = np.array([count for _, count in known], dtype=np.float64)
    weights = np.unique(np.concatenate([[0.0, 1.0], *_ties(array, vector)]))
    return max((_mean(array, vector, times, float(weight)) for weight in weights), default=0.0)


def _table(rows: Sequence[Sequence[float]]) -> np.ndarray:
    """One row for each layer, of as many ways as any has; what a layer lacks takes for ever."""
    widest = max(map(len, rows), default=0)
    return np.array([[*row, *[inf] * (widest - len(row))] for row in rows], dtype=np.float64).reshape(len(rows), widest)


def _mean(array: np.ndarray, vector: np.ndarray, times: np.ndarray, weight: float) -> float:
    with np.errstate(invalid="ignore"):
        means = weight * array + (1 - weight) * vector
    return float(times @ np.nanmin(np.where(np.isfinite(array), means, inf), axis=1)) if len(times) else 0.0


def _ties(array: np.ndarray, vector: np.ndarray) -> Iterable[np.ndarray]:
    """Weights at which two ways of a layer have the same mean: between those the least mean is a straight line."""
    for one in range(array.shape[1]):
        for other in range(one):
            with np.errstate(divide="ignore", invalid="ignore"):
                more, less = vector[:, other] - vector[:, one], array[:, one] - array[:, other]
                found = more / (more + less)
            yield found[np.isfinite(found) & (found > 0) & (found < 1)]
