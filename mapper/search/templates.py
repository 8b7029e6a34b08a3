"""The open space of one problem: its grid, and what every template (loop order, depths of the Keeps) costs over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from archsim.errors import MappingError
from mapper.constrain import FREE, Rules, group_orders, no_order
from mapper.cost import Costs, evaluate
from mapper.costs import ChipCosts
from mapper.grid import Grid, build_grid
from mapper.problem import Problem
from mapper.search.reason import reason
from mapper.search.space import ORDERS, STRIPED, Cell, Order, depth_choices, feasible
from mapper.tables import Geometry
from mapper.work import Work, work


@dataclass(frozen=True)
class Template:
    """A grid with the units' work in every cell, a loop order of its groups and the depth of every Keep."""

    grid: Grid
    done: Work
    order: Order
    kept: Mapping[str, int]

    def cell(self, position: int, costs: Costs) -> Cell:
        """One of its cells, by its position among the costs."""
        return Cell(self.grid, self.order, self.kept, costs, position)


@dataclass(frozen=True)
class Space:
    """A problem's grids on a chip, each with the units' work in every cell that may be legal and its loop orders."""

    problem: Problem
    chip: ChipCosts
    rules: Rules
    grids: tuple[tuple[Grid, Work, tuple[Order, ...]], ...]

    def keys(self) -> list[Template]:
        """All templates."""
        return [
            Template(grid, done, order, kept)
            for grid, done, orders in self.grids
            for order in orders
            for kept in depth_choices(grid, order)
        ]

    def costs(self, template: Template) -> Costs:
        """Costs of a template in the cells that fit and break no rule."""
        found = evaluate(template.grid, self.chip, template.done, template.order, template.kept)
        if not self.rules.stationary:
            return found
        once = np.ones(found.cells.shape, dtype=bool)
        for name in self.rules.stationary:
            for plan in self.problem.loads:
                if plan.operand == name:
                    once &= found.moved[plan.name].again.reshape(-1)[found.cells] <= 1
        return found.where(once)

    def templates(self) -> Iterator[tuple[Template, Costs]]:
        """Every template with its costs."""
        for template in self.keys():
            yield template, self.costs(template)

    def empty(self) -> MappingError:
        """Why no cell of any template is legal: too little room, or rules that leave none."""
        grid, _, orders = self.grids[0]
        told = reason(grid, orders, self.chip.architecture)
        if not self.rules:
            return MappingError(told or f"layer '{self.problem.layer.name}': no mapping is legal")
        left = told or f"layer '{self.problem.layer.name}': what fits fetches {_again(self.rules)} more than once"
        return MappingError(f"{self.rules.place}: {left}")


def _again(rules: Rules) -> str:
    return ", ".join(f"'{name}'" for name in rules.stationary) or "an operand"


def open_space(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], rules: Rules = FREE) -> Space:
    """The space of a problem; raises MappingError naming tensor, level, needs and has when nothing fits."""
    orders = group_orders(problem, ORDERS, rules)
    if not orders:
        raise no_order(problem, rules)
    grid = build_grid(problem, chip.architecture, rules)
    legal = feasible(grid, orders)
    if not legal.any():
        told = reason(grid, orders, chip.architecture)
        raise MappingError(f"{rules.place}: {told}" if rules else told)
    plain = (grid, work(grid, chip, dtypes, legal), tuple(orders))
    return Space(problem, chip, rules, (plain, *_striped(problem, chip, dtypes, rules, grid.geometry)))


def _striped(
    problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], rules: Rules, known: Geometry
) -> Iterator[tuple[Grid, Work, tuple[Order, ...]]]:
    """The grids with strips, where an operand is staged."""
    staged = any(plan.beyond for plan in problem.operands)
    for group, all_orders in STRIPED.items() if staged else ():
        orders = tuple(group_orders(problem, all_orders, rules))
        if not orders:
            continue
        grid = build_grid(problem, chip.architecture, rules, group, known)
        if grid.cuts[group] and (legal := feasible(grid, orders)).any():
            yield grid, work(grid, chip, dtypes, legal), orders
