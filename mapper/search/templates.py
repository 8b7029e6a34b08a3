"""The open space of one problem: its grid, and what every template (loop order, depths of the Keeps) costs over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from archsim.errors import MappingError
from mapper.constrain import FREE, Rules, group_orders
from mapper.cost import Costs, evaluate
from mapper.costs import ChipCosts
from mapper.grid import Grid, build_grid
from mapper.problem import Problem
from mapper.search.reason import reason
from mapper.search.space import ORDERS, depth_choices, feasible
from mapper.work import Work, work

Order = tuple[str, ...]


@dataclass(frozen=True)
class Space:
    """A problem's grid on a chip with the units' work in every cell that may be legal."""

    grid: Grid
    chip: ChipCosts
    done: Work
    rules: Rules
    orders: tuple[Order, ...]

    def keys(self) -> list[tuple[Order, dict[str, int]]]:
        """All templates: loop order of the groups and depth of every Keep."""
        return [(order, kept) for order in self.orders for kept in depth_choices(self.grid, order)]

    def costs(self, order: Order, kept: Mapping[str, int]) -> Costs:
        """Costs of a template, infinite where a cell does not fit or breaks a rule."""
        found = evaluate(self.grid, self.chip, self.done, order, kept)
        if not self.rules.stationary:
            return found
        once = np.ones(self.grid.shape, dtype=bool)
        for name in self.rules.stationary:
            once &= found.moved[name].again <= 1
        return found.where(once)

    def templates(self) -> Iterator[tuple[Order, dict[str, int], Costs]]:
        """Every template with its costs."""
        for order, kept in self.keys():
            yield order, kept, self.costs(order, kept)

    def empty(self) -> MappingError:
        """Why no cell of any template is legal: too little room, or rules that leave none."""
        told = reason(self.grid, self.chip.architecture)
        if not self.rules:
            return MappingError(told or f"layer '{self.grid.problem.layer.name}': no mapping is legal")
        left = told or f"layer '{self.grid.problem.layer.name}': what fits fetches {_again(self.rules)} more than once"
        return MappingError(f"{self.rules.place}: {left}")


def _again(rules: Rules) -> str:
    return ", ".join(f"'{name}'" for name in rules.stationary) or "an operand"


def open_space(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], rules: Rules = FREE) -> Space:
    """The space of a problem; raises MappingError naming tensor, level, needs and has when nothing fits."""
    orders = tuple(group_orders(problem, ORDERS, rules))
    grid = build_grid(problem, chip.architecture, rules)
    legal = feasible(grid)
    if not legal.any():
        told = reason(grid, chip.architecture)
        raise MappingError(f"{rules.place}: {told}" if rules else told)
    return Space(grid, chip, work(grid, chip, dtypes, legal), rules, orders)
