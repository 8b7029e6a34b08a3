"""Which operands of a layer are copied whole before it begins, where a schedule policy asks for that."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from mapper.problem.geometry import components, slot_sizes
from mapper.problem.operands import ACC, BIAS, EPILOGUE, OUT, OperandPlan
from mapper.problem.problem import Problem


def prefetched(problem: Problem, share: Fraction | None) -> frozenset[str]:
    """Names of the operands that come in, the largest first, as far as they fit into a ``share`` of the room that their
    memory has; none without a share."""
    if share is None:
        return frozenset()
    found: list[str] = []
    left = {level: room * share for level, room in problem.capacity.items()}
    held = {plan.name: _held_bytes(problem, plan) for plan in problem.operands if _comes_in(plan)}
    for name in sorted(held, key=lambda name: (-held[name], name)):
        level = problem.operand(name).level
        if held[name] <= left[level]:
            found.append(name)
            left[level] -= held[name]
    return frozenset(found)


def _held_bytes(problem: Problem, plan: OperandPlan) -> int:
    """Bytes of a whole operand where it is multiplied, with those of what it is made of that does not lie there."""
    sources = [part for part in map(problem.operand, plan.made_of) if not part.resident]
    return sum(whole_bytes(problem, part) for part in (plan, *sources))


def whole_bytes(problem: Problem, plan: OperandPlan) -> int:
    """Bytes of all that a layer reads of an operand."""
    parts = components(plan.axes, plan.shape, problem.layer.dims)
    return prod(slot_sizes(parts, problem.dims)) * plan.element_bytes


def _comes_in(plan: OperandPlan) -> bool:
    """Whether tiles of it are brought to the unit, as it reads them or as it is stored."""
    is_scale = plan.follows and not plan.made_of
    is_other = plan.operand in (OUT, ACC, BIAS, EPILOGUE) or plan.is_stage or is_scale
    return plan.buffered and not (plan.resident or is_other)
