"""Which operands of a layer are copied whole before it begins, where a schedule policy asks for that."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from mapper.problem.geometry import components, slot_sizes
from mapper.problem.operands import ACC, ADDEND, BIAS, OUT, OperandPlan
from mapper.problem.problem import Problem


def prefetched(problem: Problem, share: Fraction | None) -> frozenset[str]:
    """Names of the operands that come in, the largest first, as far as they fit into a ``share`` of the room that their
    memory has; none without a share."""
    if share is None:
        return frozenset()
    found: list[str] = []
    left = {level: room * share for level, room in problem.capacity.items()}
    for plan in sorted(problem.operands, key=lambda plan: (-whole_bytes(problem, plan), plan.name)):
        size = whole_bytes(problem, plan)
        if _comes_in(plan) and size <= left[plan.level]:
            found.append(plan.name)
            left[plan.level] -= size
    return frozenset(found)


def whole_bytes(problem: Problem, plan: OperandPlan) -> int:
    """Bytes of all that a layer reads of an operand."""
    parts = components(plan.axes, plan.shape, problem.layer.dims)
    return prod(slot_sizes(parts, problem.dims)) * plan.element_bytes


def _comes_in(plan: OperandPlan) -> bool:
    """Whether tiles of it are brought to the unit."""
    made_here = plan.operand in (OUT, ACC, BIAS, ADDEND) or plan.made_of or plan.follows
    return plan.buffered and not (plan.resident or plan.is_stage or made_here)
