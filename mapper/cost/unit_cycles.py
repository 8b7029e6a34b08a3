"""Cycles of the units over a tiling grid: array and vector totals, first and last tiles, the array's edge streams.

Distinct tile sizes per group are few; a table over them is filled once and summed over every cell with how often each
tile occurs, so the cost of a search grows with distinct tiles, not with cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from mapper.cost.bounded_share import work_share
from mapper.cost.chip_rates import ADDED, STREAMS, ChipCosts, drain_steps, folds, vector_times
from mapper.cost.grid import Grid, Reals
from mapper.problem.operands import OUT
from mapper.problem.problem import GROUPS, Problem

OUTPUTS = ("B", "M", "N")
ARRAY, VECTOR = ("array_total", "array_first", "array_last"), ("vector_total", "vector_first", "vector_last")
PLAIN = (*ARRAY, *VECTOR, "commands")


@dataclass(frozen=True)
class Work:
    """Reference-clock cycles of array and vector unit, the array's first output tile with its whole reduction;
    ``edge``: elements over the array's edge by stream; ``commands`` of the units."""

    array_total: Reals
    array_first: Reals
    array_last: Reals
    vector_total: Reals
    vector_first: Reals
    vector_last: Reals
    edge: Mapping[str, Reals]
    commands: Reals

    def at(self, cells: NDArray[np.intp] | int) -> Work:
        """The figures of some cells, by their flat indices: (n,) arrays; of one cell numbers."""
        plain = {name: getattr(self, name).reshape(-1)[cells] for name in PLAIN}
        return Work(edge={name: count.reshape(-1)[cells] for name, count in self.edge.items()}, **plain)

    def slowed(self, array: float, vector: float) -> Work:
        """The same work where each unit takes so many times as long."""
        if array == vector == 1.0:
            return self
        slower = {name: array * getattr(self, name) for name in ARRAY}
        return replace(self, **slower, **{name: vector * getattr(self, name) for name in VECTOR})


def joined_work(parts: Sequence[Work]) -> Work:
    """Figures of cells (``Work.at``) one after the other."""
    plain = {name: np.concatenate([getattr(part, name) for part in parts]) for name in PLAIN}
    edge = {name: np.concatenate([part.edge[name] for part in parts]) for name in parts[0].edge}
    return Work(edge=edge, **plain)


class _Values:
    """Distinct tile extents per group. ``counts``: (cut, value) -> how often; ``first``, ``last``: their values."""

    def __init__(self, grid: Grid) -> None:
        self.classes = [grid.parts[group].classes for group in GROUPS]
        self.counts = [each.counts for each in self.classes]
        self.first, self.last = [each.first for each in self.classes], [each.last for each in self.classes]
        self.shape = tuple(len(each.sizes) for each in self.classes)

    def columns(self, cells: tuple[NDArray[np.intp], ...]) -> dict[str, NDArray[np.int64]]:
        """Extents of some table entries by dim, given as an index array for each group."""
        found: dict[str, NDArray[np.int64]] = {}
        for each, cell in zip(self.classes, cells, strict=True):
            for number, dim in enumerate(each.names):
                found[dim] = each.sizes[:, number][cell]
        return found

    def summed(self, tables: Reals) -> Reals:
        """Entries of each of several tables summed over the tiles of every cell."""
        return _contracted(np.moveaxis(tables, 0, -1), [counts.T for counts in self.counts])

    @property
    def tiles_along(self) -> list[Reals]:
        """How many tiles each group's cuts make, shaped to broadcast over the grid."""
        along = [counts.sum(axis=1) for counts in self.counts]
        return [count.reshape([-1 if n == axis else 1 for n in range(len(GROUPS))]) for axis, count in enumerate(along)]

    def reduced(self, table: Reals) -> Reals:
        """Table entries of the first output tile of every cell, summed over its reduction."""
        b, m, n, _ = self.first
        found: Reals = table[b[:, None, None], m[:, None], n] @ self.counts[-1].T
        return found

    def picked(self, table: Reals, which: Sequence[NDArray[np.int64]]) -> Reals:
        """Table entries of the first or last tile of every cell."""
        b, m, n, k = which
        found: Reals = table[b[:, None, None, None], m[:, None, None], n[:, None], k]
        return found


def _contracted(table: Reals, matrices: Sequence[Reals]) -> Reals:
    """A table multiplied by a matrix along each of its first axes, which come after the others then."""
    for matrix in matrices:
        flat = table.reshape(table.shape[0], -1).T @ matrix
        table = flat.reshape(*table.shape[1:], matrix.shape[1])
    return table


def work(grid: Grid, chip: ChipCosts, dtypes: Mapping[str, str], feasible: NDArray[np.bool_]) -> Work:
    """Figures of every feasible cell; the others are infinite."""
    problem, values = grid.problem, _Values(grid)
    needed = _needed(values, feasible)
    zero = np.zeros(grid.shape)
    array = (zero, zero, zero, dict.fromkeys(STREAMS, zero))
    if problem.engine == "array":
        array = _array(problem, chip, dtypes, values, needed)
    vector = _vector(problem, chip, values, needed) if problem.vector else (zero, zero, zero)
    blocked = np.where(feasible, 0.0, np.inf)
    left = work_share(problem, grid.cuts)
    drained = work_share(problem, grid.cuts, outputs=True) if problem.engine == "array" else left
    units = (array[0] * left + blocked, array[1], array[2], vector[0] * drained, vector[1], vector[2])
    edge = {name: count * left for name, count in array[3].items()}
    return Work(*units, edge, _commands(problem, values))


def _commands(problem: Problem, values: _Values) -> Reals:
    """One for each tile, and where a matmul's sums are drained one more for each of the outputs."""
    *outputs, sums = values.tiles_along
    drained = 1.0 if problem.accumulates else 0.0
    found: Reals = prod(outputs) * (sums + drained)
    return found


def _needed(values: _Values, feasible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Table entries that some feasible cell uses."""
    used = [(counts > 0).astype(np.float64) for counts in values.counts]
    needed: NDArray[np.bool_] = _contracted(feasible.astype(np.float64), used) > 0
    return needed


def _array(
    problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], values: _Values, needed: NDArray[np.bool_]
) -> tuple[Reals, Reals, Reals, dict[str, Reals]]:
    part = next(array for array in chip.architecture.arrays if array.name == problem.unit)
    cells = np.nonzero(needed)
    figures = folds(chip, problem.layer, part, problem.pair, values.columns(cells))
    figures[0] = (figures[0] + part.startup_cycles) / chip.scale(part)
    tables = np.zeros((len(figures), *values.shape))
    for table, row in zip(tables, figures, strict=True):
        table[cells] = row
    total, *streams = values.summed(tables)
    edge = dict(zip(STREAMS, streams, strict=True))
    edge["acc_read"] = edge["acc_read"] - prod(problem.dims[dim] for group in OUTPUTS for dim in problem.groups[group])
    return total, values.reduced(tables[0]), values.picked(tables[0], values.last), edge


def _vector(
    problem: Problem, chip: ChipCosts, values: _Values, needed: NDArray[np.bool_]
) -> tuple[Reals, Reals, Reals]:
    part = next(unit for unit in chip.architecture.vectors if unit.name == problem.vector)
    dtype, scale = problem.operand(OUT).dtype, chip.scale(part)
    work = drain_steps(problem.layer)
    drained = _table(values, needed, problem.accumulates, lambda n: vector_times(n, work, part, dtype) / scale)
    sums = values.counts[-1]
    once = sums.sum(axis=1) if problem.accumulates else np.ones(sums.shape[0])
    total = values.summed(drained[None])[0] / once
    first, last = values.picked(drained, values.first), values.picked(drained, values.last)
    if problem.accumulates and problem.engine == "vector":
        added = _table(values, needed, False, lambda n: vector_times(n, ADDED, part, dtype) / scale)
        total = total + values.summed(added[None])[0]
        first = first + values.reduced(added)
        last = last + values.picked(added, values.last)
    return total, first, last


def _table(
    values: _Values, needed: NDArray[np.bool_], outputs_only: bool, cycles: Callable[[NDArray[np.int64]], Reals]
) -> Reals:
    """Cycles by tile volume; ``outputs_only``: the reduction's extents do not count (a drain)."""
    volumes = np.ones(values.shape, dtype=np.int64)
    for axis, group in enumerate(GROUPS):
        if outputs_only and group == "K":
            continue
        along = values.classes[axis].volumes
        volumes = volumes * along.reshape([-1 if other == axis else 1 for other in range(len(GROUPS))])
    found = np.zeros(values.shape)
    found[needed] = cycles(volumes[needed])
    return found
