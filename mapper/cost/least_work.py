"""The least work of the units of a layer with bounds, for figures that no run undercuts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mapper.cost.chip_rates import ChipCosts
from mapper.cost.unit_cycles import Work
from mapper.problem.problem import Problem


def least_work(problem: Problem, chip: ChipCosts, done: Work) -> Work:
    """What no core can do with less: its share of the multiply-accumulates inside the bounds, all at the peak of the
    array. Tiles that bounds cut take whole folds, of which a sum over tiles is no bound."""
    array = next((part for part in chip.architecture.arrays if part.name == problem.unit), None)
    none = np.zeros(done.array_total.shape)
    least = none
    if array is not None:
        slots = array.rows * array.cols * array.rate(problem.operand("a").dtype, problem.operand("b").dtype)
        cores = problem.spread.cores if problem.spread is not None else 1
        least = none + problem.layer.macs / (float(slots) * cores * chip.scale(array))
    return replace(
        done, array_total=least, array_first=none, array_last=none, vector_total=none, vector_first=none,
        vector_last=none,
    )  # fmt: skip
