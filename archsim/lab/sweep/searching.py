"""The search of a sweep: its axes as a problem for a method of design search."""

from __future__ import annotations

from archsim.lab.explore import catalogue
from archsim.lab.explore.problem import Method, Problem
from archsim.lab.sweep.axis import Axis
from archsim.lab.sweep.form import Sweep
from archsim.lab.sweep.points import Grid
from archsim.lab.sweep.table import plain


def method(sweep: Sweep) -> Method:
    """The sweep's method, not asked yet; raises ConfigError where what it needs is not installed."""
    return catalogue.make(sweep.search.method, problem(sweep))


def problem(sweep: Sweep) -> Problem:
    """Axes that move together are one; the goals are those of all models."""
    grid = Grid(sweep)
    alike = tuple([any(ordered(sweep.axes[axis]) for axis in group) for group in grid.groups])
    goals = len(sweep.goals) * len(sweep.models)
    return Problem(grid.shape, alike, goals, sweep.search.trials or len(grid), sweep.search.seed)


def ordered(axis: Axis) -> bool:
    """Whether the values of an axis are numbers, quantities or lists of them that rise or fall all along it."""
    parts = [value if isinstance(value, list) else [value] for value in axis.values]
    if len({len(each) for each in parts}) > 1:
        return False
    return all(_one_way([plain(value)[0] for value in column]) for column in zip(*parts, strict=True))


def _one_way(values: list[object]) -> bool:
    numbers = [value for value in values if isinstance(value, int | float)]
    return len(numbers) == len(values) and numbers in (sorted(numbers), sorted(numbers, reverse=True))
