"""What a method of design search is told of a point: the goals of all models, by how much constraints are missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import float_info

from archsim.lab.explore.problem import Outcome
from archsim.lab.options import Requirement
from archsim.lab.sweep.form import Sweep
from archsim.lab.sweep.table import met

Numbers = Mapping[str, float | None]  # of a result, by dotted key


def outcome(sweep: Sweep, models: Sequence[Numbers | None]) -> Outcome:
    """Of a point by the numbers of each model, None where there is no result. One without a figure for a goal is as
    good as none."""
    costs = [cost for numbers in models for cost in _costs(sweep, numbers or {})]
    missed = [violation(item, numbers or {}) for numbers in models for item in sweep.constraints]
    known = tuple([cost for cost in costs if cost is not None])
    return Outcome(known if len(known) == len(costs) else None, tuple(missed))


def _costs(sweep: Sweep, numbers: Numbers) -> list[float | None]:
    found = [(numbers.get(goal.key), goal.largest) for goal in sweep.goals]
    return [None if number is None else -number if largest else number for number, largest in found]


def violation(item: Requirement, numbers: Numbers) -> float:
    """By what share of the larger of number and bound a constraint is missed: above 0, at most 2; infinite without a
    figure; 0 where it is met."""
    number = numbers.get(item.key)
    if number is None:
        return float("inf")
    if met(item, numbers):
        return 0.0
    return max(abs(number - item.bound) / (max(abs(number), abs(item.bound)) or 1.0), float_info.epsilon)
