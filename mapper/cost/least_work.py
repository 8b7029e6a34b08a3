"""The least work of the units of a layer with bounds, for figures that no run undercuts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Flow
from mapper.cost.unit_cycles import Work
from mapper.problem.problem import Problem


def least_work(problem: Problem, chip: ChipCosts, done: Work) -> Work:
    """What no core can do with less: its share of the multiply-accumulates inside the bounds, all at the peak of the
    array. Tiles that bounds cut take whole folds, of which a sum over tiles is no bound."""
    array = next((part for part in chip.architecture.arrays if part.name == problem.unit), None)
    none = np.zeros(done.array_total.shape)
    edge = dict.fromkeys(done.edge, none)
    least = none
    if array is not None:
        slots = array.rows * array.cols * array.rate(problem.operand("a").dtype, problem.operand("b").dtype)
        cores = problem.spread.cores if problem.spread is not None else 1
        least = none + problem.layer.macs / (float(slots) * cores * chip.scale(array))
    return replace(
        done, array_total=least, array_first=none, array_last=none, vector_total=none, vector_first=none,
        vector_last=none, edge=edge,
    )  # fmt: skip


def least_flows(problem: Problem, flows: Mapping[str, Flow]) -> dict[str, Flow]:
    """Traffic that no run undercuts: of an operand of which bounds leave tiles out none is counted, nor of others that
    their first tiles are whole."""
    tied = {dim for bound in problem.layer.bounds for dim in bound.dims}
    found = {}
    for plan in problem.operands:
        flow = flows[plan.name]
        none = np.zeros(flow.touched.shape)
        found[plan.name] = Flow(none, none, none, none, flow.run) if tied & plan.dims else flow._replace(first=none)
    return found
