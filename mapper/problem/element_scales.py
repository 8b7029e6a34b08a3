"""What stored elements stand for: (scale, zero) of every tensor, handed on to the rings that hold its tiles."""

from __future__ import annotations

from collections.abc import Mapping

from mapper.problem.operands import ACC
from mapper.problem.problem import Problem

Numbers = tuple[float, int]  # an element q stands for (q - zero) * scale
PLAIN: Numbers = (1.0, 0)


def of_operands(problem: Problem, base: Mapping[str, str], numbers: Mapping[str, Numbers]) -> dict[str, Numbers]:
    """Numbers by operand; ``numbers``: of root tensors, ``base``: the root of each. Accumulators: product of scales."""
    found = {plan.name: numbers.get(base[plan.tensor], PLAIN) for plan in problem.operands if plan.tensor}
    if problem.accumulates:
        found[ACC] = (found["a"][0] * found["b"][0], 0)
    return found
