"""Which of the DMA's queues moves what: weights on the first load engine, other inputs of a layer on the others.

So the next layer's weights do not stand behind this layer's inputs. Rows that are looked up come on the last one, in
one order for every cache. Stores take turns layer by layer. With one channel all of it is one queue.

Each on-chip memory that is filled from another one has as many queues of its own, so that what comes from DRAM is not
held up by what waits for a place further in.
"""

from __future__ import annotations

from mapper.problem.operands import BIAS, OperandPlan
from mapper.problem.problem import Problem


def load_channel(problem: Problem, plan: OperandPlan, channels: int) -> int:
    """The load queue of an operand's tiles."""
    return channels * plan.edge + _channel(problem, plan, channels)


def store_channel(layer: int, plan: OperandPlan, channels: int) -> int:
    """The store queue of an output's tiles, ``layer`` counted from 0."""
    return channels * plan.edge + layer % channels


def _channel(problem: Problem, plan: OperandPlan, channels: int) -> int:
    if channels == 1 or _stationary(plan):
        return 0
    if plan.rows is not None:
        return channels - 1
    others = [other.name for other in (*problem.reads, *problem.added) if not _stationary(other)]
    return 1 + others.index(plan.operand) % (channels - 1)


def _stationary(plan: OperandPlan) -> bool:
    return plan.role == "weights" or plan.operand == BIAS
