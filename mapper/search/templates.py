"""The open space of one problem: its grid, and what every template (loop order, depths of the Keeps) costs over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from archsim.base.errors import MappingError
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import TAPS, Grid, Reals, Traffic
from mapper.cost.grid import Cells as GridCells
from mapper.cost.grid_cost import Cells, Costs
from mapper.cost.unit_cycles import Work
from mapper.problem.constraints import FREE, Rules, group_orders, no_order
from mapper.problem.operands import OperandPlan
from mapper.problem.prefetched import prefetched
from mapper.problem.problem import Problem
from mapper.search.reason import reason
from mapper.search.space import ORDERS, STRIPED, Cell, Order
from mapper.search.table_cache import Tables, tables


@dataclass(frozen=True)
class Template:
    """The tables of a grid with the units' work in every cell, a loop order of its groups and the depth of every
    Keep."""

    tables: Tables
    done: Work
    order: Order
    kept: Mapping[str, int]

    @property
    def grid(self) -> Grid:
        """That of the tables."""
        return self.tables.grid

    def cell(self, number: int) -> Cell:
        """One of its cells, by its flat index."""
        return Cell(self.grid, self.order, self.kept, number)

    def traffic(self, plan: OperandPlan) -> Traffic:
        """Of an operand, in the whole grid."""
        return self.grid.traffic(plan, self.order, self.kept[plan.name])


@dataclass(frozen=True)
class Space:
    """A problem's grids on a chip, each with the units' work in every cell that may be legal and its loop orders;
    ``asked``: those too in which no cell is."""

    problem: Problem
    chip: ChipCosts
    rules: Rules
    grids: tuple[tuple[Tables, Work, tuple[Order, ...]], ...]
    asked: tuple[tuple[Grid, tuple[Order, ...]], ...]

    def templates(self) -> list[Template]:
        """All templates; where filter taps are cut those in which that makes tiles of weights smaller; those in which
        what is copied whole first stands above all loops."""
        whole = prefetched(self.problem, self.rules.prefetch)
        return [
            Template(tables, done, order, kept)
            for tables, done, orders in self.grids
            for order in orders
            for kept in tables.depths(order)
            if (tables.grid.variant != TAPS or kept["b"] == len(order)) and not any(kept[name] for name in whole)
        ]

    def legal(self, template: Template) -> Cells:
        """Cells of a template that fit and break no rule: flat indices, ascending."""
        legal = np.isfinite(template.done.array_total)
        for level, need in template.tables.held(template.order, template.kept).items():
            legal &= need <= self.problem.capacity[level]
        for name in self.rules.stationary:
            for plan in self.problem.loads:
                if plan.operand == name:
                    legal &= template.traffic(plan).again <= 1
        return np.flatnonzero(legal)

    def costs(self, template: Template, cells: Cells) -> Costs:
        """Costs of a template in some cells."""
        at = GridCells(cells, template.grid.shape)
        flows = {plan.name: template.traffic(plan).at(at) for plan in self.problem.operands}
        needs = template.tables.held(template.order, template.kept).values()
        held: Reals = sum((at.of(need) for need in needs), np.zeros(cells.shape))
        return Costs(self.problem, self.chip, cells, template.done.at(cells), flows, held)

    def least(self, template: Template, cells: Cells) -> Reals:
        """Cycles that no costs of these cells undercut: the busiest unit's, and those of the bytes on DRAM pins."""
        done = template.done
        least = np.maximum(done.array_total.reshape(-1)[cells], done.vector_total.reshape(-1)[cells])
        for memory, size in template.tables.beyond(template.order, template.kept).items():
            if self.chip.architecture.memory(memory).kind == "dram":
                least = np.maximum(least, size.reshape(-1)[cells] / self.chip.port_rate(memory, write=False))
        return least

    def empty(self) -> MappingError:
        """Why no cell of any template is legal: too little room, or rules that leave none."""
        told = reason(self.problem, self.asked, self.chip.architecture)
        if not self.rules:
            return MappingError(told or f"layer '{self.problem.layer.name}': no mapping is legal")
        left = told or f"layer '{self.problem.layer.name}': what fits fetches {_again(self.rules)} more than once"
        return MappingError(f"{self.rules.place}: {left}")


def _again(rules: Rules) -> str:
    return ", ".join(f"'{name}'" for name in rules.stationary) or "an operand"


def open_space(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], rules: Rules = FREE) -> Space:
    """The space of a problem; raises MappingError naming tensor, level, needs and has when nothing fits."""
    if not group_orders(problem, ORDERS, rules):
        raise no_order(problem, rules)
    asked = tuple(_asked(problem, chip, rules))
    grids = tuple(
        (found, found.work(chip, dtypes, legal), orders)
        for found, orders in asked
        if (legal := found.feasible(orders)).any()
    )
    space = Space(problem, chip, rules, grids, tuple((found.grid, orders) for found, orders in asked))
    if not grids:
        raise space.empty()
    return space


def _asked(problem: Problem, chip: ChipCosts, rules: Rules) -> Iterator[tuple[Tables, tuple[Order, ...]]]:
    """The tables of all grids with the loop orders that obey the rules, where there are any."""
    plain = tables(problem, chip, rules)
    for variant, all_orders in {"": ORDERS, **_variants(problem)}.items():
        orders = tuple(group_orders(problem, all_orders, rules))
        found = tables(problem, chip, rules, variant, plain.grid) if variant and orders else plain
        if orders and found.grid.size:
            yield found, orders


def _variants(problem: Problem) -> dict[str, tuple[Order, ...]]:
    """Beside the plain grid those with strips, where an operand is staged, and with filter taps that are cut."""
    wanted = dict(STRIPED) if any(plan.beyond for plan in problem.operands) else {}
    return {**wanted, TAPS: ORDERS} if problem.taps else wanted
