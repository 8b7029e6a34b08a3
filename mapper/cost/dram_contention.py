"""What the cores of a chip leave one another of DRAM: times of a layer that is spread over them, to rank mappings by.

Streams of several engines close each other's rows, and runs that are shorter than the rows of all channels meet in few
banks. So bytes take as long as they were measured to take with as many streams as an operand has different tiles at a
time, as far apart as these are. What DRAM serves last is still to be worked on, and the last results are still to be
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from math import inf

import numpy as np
from numpy.typing import NDArray

from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Flow, Reals
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import Problem

SHARE = 0.125  # of a memory, for the tiles of one operand that wait there while other layers run
SHARPNESS = 4  # of the norm by which resources hold one another up: two that are busy all the time take 19 % longer


def together(terms: Iterable[Reals]) -> Reals:
    """Cycles of resources that need ``terms`` each: about the largest where the others have time to spare, more where
    they do not, since cores that share them are not in step.
    """
    found = [np.asarray(term, dtype=np.float64) for term in terms]
    most = reduce(np.maximum, found, np.ones(()))
    total: Reals = sum((np.power(term / most, SHARPNESS) for term in found), np.zeros(()))
    return most * np.power(total, 1 / SHARPNESS)


def in_turns(problem: Problem, plan: OperandPlan) -> bool:
    """Whether cores that load different tiles of an operand may have to do it in turns: they stage them in a memory
    that all share, and nobody waits for the tiles of several of them, as cores do that add their partial sums up.
    """
    staged = problem.spread is not None and plan in problem.loads and plan.level in problem.spread.shared
    return staged and not plan.beyond and problem.adders == 1


def slowdown(chip: ChipCosts, problem: Problem, plan: OperandPlan, run: Reals | None = None) -> Reals:
    """How much longer than at the peak of its DRAM an operand's bytes take, in contiguous runs of ``run`` elements
    (0, None: as long as they can be); 1 for what is on chip.
    """
    known = chip.outer.get(plan.home)
    if known is None or not known.shares:
        return np.ones(())
    streams, apart = problem.copies(plan), problem.apart_bytes(plan)
    if in_turns(problem, plan):
        streams = min(streams, known.streams(apart_bytes=apart))
    lengths = inf if run is None else np.where(run > 0, run * plan.element_bytes, inf)
    found: Reals = 1.0 / known.share(streams, lengths, apart)
    return found


def paced(chip: ChipCosts, problem: Problem, flows: Mapping[str, Flow]) -> dict[str, Flow]:
    """The traffic that DRAM sees, stretched by ``slowdown``."""
    found = dict(flows)
    for plan in (*problem.loads, *problem.stores):
        flow = flows[plan.name]
        slower = slowdown(chip, problem, plan, flow.run)
        found[plan.name] = flow._replace(touched=flow.touched * slower, first=flow.first * slower)
    return found


def brought_before(chip: ChipCosts, problem: Problem, flows: Mapping[str, Flow]) -> dict[str, Flow]:
    """The same without the first tiles of what can be there before the layer runs, where the tiles of all cores take no
    more than a ``SHARE`` of their memory: beside them lie those of the layers before, whose work hides them."""
    found = dict(flows)
    for plan in problem.loads:
        if problem.ahead(plan):
            flow = flows[plan.name]
            tile = flow.first * (plan.element_bytes * problem.whole_parts(plan, plan.home))
            room = chip.architecture.memory(plan.level).capacity_bytes * SHARE
            fits = tile * np.minimum(plan.slots, np.maximum(flow.moves, 1.0)) <= room
            found[plan.name] = flow._replace(first=np.where(fits, 0.0, flow.first))
    return found


def behind(problem: Problem, memory: str, flows: Mapping[str, Flow], work: Reals) -> Reals:
    """Cycles of ``work`` that are left when a DRAM has served the last tile, of the most finely cut of the operands
    that come from it; none where all that it serves can be there before."""
    loads = [plan for plan in problem.loads if plan.home == memory]
    late = [np.where(_is_before(problem, plan, flows), 0.0, flows[plan.name].moves) for plan in loads]
    moves = reduce(np.maximum, late, np.zeros(()))
    return np.where(moves > 0, work / np.maximum(moves, 1.0), 0.0)


def _is_before(problem: Problem, plan: OperandPlan, flows: Mapping[str, Flow]) -> NDArray[np.bool_]:
    """Whether an operand's first tile takes no time, since it can be there before."""
    return np.asarray(problem.ahead(plan)) & (flows[plan.name].first <= 0)
