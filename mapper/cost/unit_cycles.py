"""Cycles of the units over a tiling grid: array and vector totals, first and last tiles, the array's edge streams.

Distinct tile sizes per group are few; a table over them is filled once and summed over every cell with how often each
tile occurs, so the cost of a search grows with distinct tiles, not with cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np
from numpy.typing import NDArray

from mapper.cost.chip_rates import STREAMS, ChipCosts, drain_steps, folds, vector_times
from mapper.cost.grid import Grid, Reals
from mapper.cost.tile_shares import Extents, classes, first_extents, last_extents
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

    def at(self, cells: NDArray[np.intp]) -> Work:
        """The figures of some cells, by their flat indices: (n,) arrays."""
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


@dataclass(frozen=True)
class _Values:
    """Distinct tile extents per group. ``counts``: (cut, value) -> how often; ``first``, ``last``: their values."""

    extents: Mapping[str, list[Extents]]
    counts: Mapping[str, Reals]
    first: Mapping[str, NDArray[np.int64]]
    last: Mapping[str, NDArray[np.int64]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Distinct values of B, M, N, K."""
        return tuple(len(self.extents[group]) for group in GROUPS)

    def columns(self, cells: tuple[NDArray[np.intp], ...]) -> dict[str, NDArray[np.int64]]:
        """Extents of some table entries by dim, given as an index array for each group."""
        found: dict[str, NDArray[np.int64]] = {}
        for group, cell in zip(GROUPS, cells, strict=True):
            for number, (dim, _) in enumerate(self.extents[group][0]):
                found[dim] = np.array([tile[number][1] for tile in self.extents[group]], dtype=np.int64)[cell]
        return found

    def summed(self, tables: Reals) -> Reals:
        """Entries of each of several tables summed over the tiles of every cell."""
        return _contracted(np.moveaxis(tables, 0, -1), [self.counts[group].T for group in GROUPS])

    @property
    def tiles_along(self) -> list[Reals]:
        """How many tiles each group's cuts make, shaped to broadcast over the grid."""
        along = [self.counts[group].sum(axis=1) for group in GROUPS]
        return [count.reshape([-1 if n == axis else 1 for n in range(len(GROUPS))]) for axis, count in enumerate(along)]

    def reduced(self, table: Reals) -> Reals:
        """Table entries of the first output tile of every cell, summed over its reduction."""
        b, m, n = (self.first[group] for group in OUTPUTS)
        found: Reals = table[b[:, None, None], m[:, None], n] @ self.counts["K"].T
        return found

    def picked(self, table: Reals, which: Mapping[str, NDArray[np.int64]]) -> Reals:
        """Table entries of the first or last tile of every cell."""
        b, m, n, k = (which[group] for group in GROUPS)
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
    problem, values = grid.problem, _values(grid)
    needed = _needed(values, feasible)
    zero = np.zeros(grid.shape)
    array = (zero, zero, zero, dict.fromkeys(STREAMS, zero))
    if problem.engine == "array":
        array = _array(problem, chip, dtypes, values, needed)
    vector = _vector(problem, chip, values, needed) if problem.vector else (zero, zero, zero)
    blocked = np.where(feasible, 0.0, np.inf)
    units = (array[0] + blocked, array[1], array[2], vector[0], vector[1], vector[2])
    return Work(*units, array[3], _commands(problem, values))


def _commands(problem: Problem, values: _Values) -> Reals:
    """One for each tile, and where a matmul's sums are drained one more for each of the outputs."""
    *outputs, sums = values.tiles_along
    drained = 1.0 if problem.accumulates else 0.0
    found: Reals = prod(outputs) * (sums + drained)
    return found


def _values(grid: Grid) -> _Values:
    dims, groups = grid.problem.dims, grid.problem.groups
    extents: dict[str, list[Extents]] = {}
    counts, first, last = {}, {}, {}
    for group in GROUPS:
        index: dict[Extents, int] = {}
        names = groups[group]
        alike = partial(_plain, apart=group == "K" or (group == "M" and bool(grid.problem.windows)))
        rows = [[(alike(tile), times) for tile, times in classes(cut, dims, names)] for cut in grid.cuts[group]]
        ends = [(first_extents(cut, names), last_extents(cut, dims, names)) for cut in grid.cuts[group]]
        for row in rows:
            for tile, _ in row:
                index.setdefault(tile, len(index))
        matrix = np.zeros((len(rows), len(index)))
        for number, row in enumerate(rows):
            for tile, times in row:
                matrix[number, index[tile]] += times
        extents[group], counts[group] = list(index), matrix
        first[group] = np.array([index[alike(low)] for low, _ in ends], dtype=np.int64)
        last[group] = np.array([index[alike(high)] for _, high in ends], dtype=np.int64)
    return _Values(extents, counts, first, last)


def _plain(tile: Extents, apart: bool) -> Extents:
    """Only the volume of a tile matters, but where a dataflow may tell dims ``apart``: those of the reduction, and of
    the output rows where windows slide over them."""
    if apart or not tile:
        return tile
    return ((tile[0][0], prod(size for _, size in tile)), *((dim, 1) for dim, _ in tile[1:]))


def _needed(values: _Values, feasible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Table entries that some feasible cell uses."""
    used = [(values.counts[group] > 0).astype(np.float64) for group in GROUPS]
    needed: NDArray[np.bool_] = _contracted(feasible.astype(np.float64), used) > 0
    return needed


def _array(
    problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], values: _Values, needed: NDArray[np.bool_]
) -> tuple[Reals, Reals, Reals, dict[str, Reals]]:
    part = next(array for array in chip.architecture.arrays if array.name == problem.unit)
    cells = np.nonzero(needed)
    figures = folds(chip, problem.layer, part, dtypes, values.columns(cells))
    figures[0] = (figures[0] + part.startup_cycles) / chip.scale(part)
    tables = np.zeros((len(figures), *values.shape))
    tables[:, *cells] = figures
    total, *streams = values.summed(tables)
    edge = dict(zip(STREAMS, streams, strict=True))
    edge["acc_read"] = edge["acc_read"] - prod(problem.dims[dim] for group in OUTPUTS for dim in problem.groups[group])
    return total, values.reduced(tables[0]), values.picked(tables[0], values.last), edge


def _vector(
    problem: Problem, chip: ChipCosts, values: _Values, needed: NDArray[np.bool_]
) -> tuple[Reals, Reals, Reals]:
    part = next(unit for unit in chip.architecture.vectors if unit.name == problem.vector)
    dtype, scale = problem.operand(OUT).dtype, chip.scale(part)
    passes, slow, _ = drain_steps(problem.layer)
    drained = _table(values, needed, problem.accumulates, lambda n: vector_times(n, passes, slow, part, dtype) / scale)
    once = values.counts["K"].sum(axis=1) if problem.accumulates else np.ones(values.counts["K"].shape[0])
    total = values.summed(drained[None])[0] / once
    first, last = values.picked(drained, values.first), values.picked(drained, values.last)
    if problem.accumulates and problem.engine == "vector":
        added = _table(values, needed, False, lambda n: vector_times(n, 1, (), part, dtype) / scale)
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
        sizes = np.array([prod([size for _, size in tile]) for tile in values.extents[group]], dtype=np.int64)
        volumes = volumes * sizes.reshape([-1 if other == axis else 1 for other in range(len(GROUPS))])
    found = np.zeros(values.shape)
    found[needed] = cycles(volumes[needed])
    return found
