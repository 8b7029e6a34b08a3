"""What the cores of a chip leave one another of DRAM: times of a layer that is spread over them, to rank mappings by.

Streams of several engines close each other's rows, and runs that are shorter than the rows of all channels meet in few
banks. So bytes take as long as they were measured to take with as many streams as an operand has different tiles at a
time. What DRAM serves last is still to be worked on, and the last results are still to be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

import numpy as np

from mapper.costs import ChipCosts
from mapper.grid import Flow, Reals
from mapper.operands import OperandPlan
from mapper.problem import Problem

SHARPNESS = 4  # of the norm by which resources hold one another up: two that are busy all the time take 19 % longer


def together(terms: Iterable[Reals]) -> Reals:
    """Cycles of resources that need ``terms`` each: about the largest where the others have time to spare, more where
    they do not, since cores that share them are not in step.
    """
    found = [np.asarray(term, dtype=np.float64) for term in terms]
    most = reduce(np.maximum, found, np.ones(()))
    total: Reals = sum(((term / most) ** SHARPNESS for term in found), np.zeros(()))
    return most * total ** (1 / SHARPNESS)


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
    streams = problem.copies(plan)
    if in_turns(problem, plan):
        streams = min(streams, known.streams())
    if run is None:
        return np.asarray(1.0 / known.share(streams))
    found: Reals = 1.0 / known.share(streams, np.where(run > 0, run * plan.element_bytes, np.inf))
    return found


def paced(chip: ChipCosts, problem: Problem, flows: Mapping[str, Flow]) -> dict[str, Flow]:
    """The traffic that DRAM sees, stretched by ``slowdown``; first tiles that can be there before take no time."""
    found = dict(flows)
    for plan in (*problem.loads, *problem.stores):
        flow = flows[plan.name]
        slower = slowdown(chip, problem, plan, flow.run)
        first = flow.first * (0.0 if problem.ahead(plan) else slower)
        found[plan.name] = flow._replace(touched=flow.touched * slower, first=first)
    return found


def last_written(chip: ChipCosts, problem: Problem, flows: Mapping[str, Flow]) -> Reals:
    """Reference cycles in which the memories that cores share take the last tiles of all of them."""
    total: Reals = np.zeros(())
    for plan in problem.stores:
        flow = flows[plan.name]
        tile = flow.touched / np.maximum(flow.moves, 1.0) * (plan.element_bytes * problem.share(plan, plan.home))
        total = total + tile / chip.port_rate(plan.home, write=True)
    return total


def behind(problem: Problem, flows: Mapping[str, Flow], work: Reals) -> Reals:
    """Cycles of ``work`` that are left when DRAM has served the last tile, of the most finely cut operand; none where
    all that it serves can be there before."""
    moves = [flows[plan.name].moves for plan in problem.loads if not plan.beyond and not problem.ahead(plan)]
    return work / reduce(np.maximum, moves) if moves else np.zeros(())
