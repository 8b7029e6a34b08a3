"""The search of a sweep: its axes as a problem for a method of design search.

Of a point that was run the method is told the goals of all models, and by how much constraints are missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import float_info

from archsim.lab.explore import catalogue
from archsim.lab.explore.problem import DesignProblem, PointOutcome, SearchMethod
from archsim.lab.kit.options import Requirement
from archsim.lab.sweep.axis import SweepAxis
from archsim.lab.sweep.form import Sweep
from archsim.lab.sweep.points import SweepGrid
from archsim.lab.sweep.table import met, plain


def method(sweep: Sweep) -> SearchMethod:
    """The sweep's method, not asked yet; raises ConfigError where what it needs is not installed."""
    return catalogue.make(sweep.search.method, problem(sweep))


def problem(sweep: Sweep) -> DesignProblem:
    """Axes that move together are one; the goals are those of all models."""
    grid = SweepGrid(sweep)
    alike = tuple([any(ordered(sweep.axes[axis]) for axis in group) for group in grid.groups])
    goals = len(sweep.goals) * len(sweep.models)
    return DesignProblem(grid.shape, alike, goals, sweep.search.trials or len(grid), sweep.search.seed)


def ordered(axis: SweepAxis) -> bool:
    """Whether the values of an axis are numbers, quantities or lists of them that rise or fall all along it."""
    parts = [value if isinstance(value, list) else [value] for value in axis.values]
    if len({len(each) for each in parts}) > 1:
        return False
    return all(_one_way([plain(value)[0] for value in column]) for column in zip(*parts, strict=True))


def _one_way(values: list[object]) -> bool:
    numbers = [value for value in values if isinstance(value, int | float)]
    return len(numbers) == len(values) and numbers in (sorted(numbers), sorted(numbers, reverse=True))


ResultNumbers = Mapping[str, float | None]  # of a result, by dotted key


def outcome(sweep: Sweep, models: Sequence[ResultNumbers | None]) -> PointOutcome:
    """Of a point by the numbers of each model, None where there is no result. One without a figure for a goal is as
    good as none."""
    costs = [cost for numbers in models for cost in _costs(sweep, numbers or {})]
    missed = [violation(item, numbers or {}) for numbers in models for item in sweep.constraints]
    known = tuple([cost for cost in costs if cost is not None])
    return PointOutcome(known if len(known) == len(costs) else None, tuple(missed))


def _costs(sweep: Sweep, numbers: ResultNumbers) -> list[float | None]:
    found = [(numbers.get(goal.key), goal.largest) for goal in sweep.goals]
    return [None if number is None else -number if largest else number for number, largest in found]


def violation(item: Requirement, numbers: ResultNumbers) -> float:
    """By what share of the larger of number and bound a constraint is missed: above 0, at most 2; infinite without a
    figure; 0 where it is met."""
    number = numbers.get(item.key)
    if number is None:
        return float("inf")
    if met(item, numbers):
        return 0.0
    return max(abs(number - item.bound) / (max(abs(number), abs(item.bound)) or 1.0), float_info.epsilon)
