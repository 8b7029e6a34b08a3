"""Which of the DMA's channels moves what: weights on the first load engine, other inputs of a layer on the others.

So the next layer's weights do not stand behind this layer's inputs. Rows that are looked up come on the last one, in
one order for every cache. Stores take turns layer by layer. With one channel all of it is one queue.
"""

from __future__ import annotations

from mapper.problem import OperandPlan, Problem


def load_channel(problem: Problem, plan: OperandPlan, channels: int) -> int:
    """The load engine of an operand."""
    if channels == 1 or _stationary(plan):
        return 0
    if plan.rows is not None:
        return channels - 1
    others = [other.name for other in problem.reads if not _stationary(other)]
    return 1 + others.index(plan.name) % (channels - 1)


def _stationary(plan: OperandPlan) -> bool:
    return plan.role == "weights" or plan.name == "bias"
