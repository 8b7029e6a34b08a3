"""Cycles of the units over a tiling grid: array and vector totals, first and last tiles, the array's edge streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from archsim.spec.architecture import Vector
from mapper.costs import ChipCosts, FoldFunction, drain_steps, fold_function, vector_time
from mapper.grid import Grid, Reals
from mapper.problem import GROUPS, OUT
from mapper.tables import Extents, classes, first_extents, last_extents

STREAMS = ("a", "b", "acc_read", "acc_write")
FIGURES = (
    "array_total",
    "array_first",
    "array_last",
    "vector_total",
    "vector_first",
    "vector_last",
    *STREAMS,
)

Classes = list[tuple[Extents, int]]  # tile extents of one group and how often they occur


@dataclass(frozen=True)
class Work:
    """Reference-clock cycles of array and vector unit; ``edge``: elements over the array's edge by stream."""

    array_total: Reals
    array_first: Reals
    array_last: Reals
    vector_total: Reals
    vector_first: Reals
    vector_last: Reals
    edge: Mapping[str, Reals]


def work(grid: Grid, chip: ChipCosts, dtypes: Mapping[str, str], feasible: NDArray[np.bool_]) -> Work:
    """Figures of every feasible cell; the others are infinite."""
    out = {name: np.full(grid.shape, np.inf) for name in FIGURES}
    meter = _Meter(grid, chip, dtypes)
    for cell in map(tuple, np.argwhere(feasible)):
        for name, value in meter.cell(cell).items():
            out[name][cell] = value
    edge = {name: out.pop(name) for name in STREAMS}
    return Work(**out, edge=edge)


class _Meter:
    """Figures of one cell; folds and vector times are memoised over cells."""

    def __init__(self, grid: Grid, chip: ChipCosts, dtypes: Mapping[str, str]) -> None:
        self.problem, architecture = grid.problem, chip.architecture
        dims, groups = self.problem.dims, self.problem.groups
        self.array: _ArrayMeter | None = None
        if self.problem.engine == "array":
            array = next(part for part in architecture.arrays if part.name == self.problem.unit)
            fold = fold_function(self.problem.layer, array, dtypes)
            self.array = _ArrayMeter(fold, array.startup_cycles, chip.scale(array))
        self.vector: _VectorMeter | None = None
        if self.problem.vector:
            unit = next(part for part in architecture.vectors if part.name == self.problem.vector)
            passes, slow, _ = drain_steps(self.problem.layer)
            self.vector = _VectorMeter(unit, passes, slow, self.problem.operand(OUT).dtype, chip.scale(unit))
        self.outputs = prod(dims[dim] for group in ("B", "M", "N") for dim in groups[group])
        self.classes = {g: [classes(cut, dims, groups[g]) for cut in grid.cuts[g]] for g in GROUPS}
        self.last = {g: [last_extents(cut, dims, groups[g]) for cut in grid.cuts[g]] for g in GROUPS}
        self.first = {g: [first_extents(cut, groups[g]) for cut in grid.cuts[g]] for g in GROUPS}

    def cell(self, cell: tuple[int, ...]) -> dict[str, float]:
        """All figures of one cell."""
        chosen = dict(zip(GROUPS, cell, strict=True))
        parts = {group: self.classes[group][index] for group, index in chosen.items()}
        first = {group: self.first[group][index] for group, index in chosen.items()}
        last = {group: self.last[group][index] for group, index in chosen.items()}
        figures = dict.fromkeys(FIGURES, 0.0)
        if self.array is not None:
            figures |= self.array.figures(parts, _join(first, GROUPS), _join(last, GROUPS))
            figures["acc_read"] -= self.outputs
        if self.vector is not None:
            figures |= self._vector(self.vector, parts, first, last)
        return figures

    def _vector(
        self,
        meter: _VectorMeter,
        parts: Mapping[str, Classes],
        first: Mapping[str, Extents],
        last: Mapping[str, Extents],
    ) -> dict[str, float]:
        over = ("B", "M", "N") if self.problem.accumulates else GROUPS
        total = sum(count * meter.cycles(_volume(tile)) for tile, count in _tiles(parts, over))
        if self.array is None and self.problem.accumulates:
            total += sum(count * meter.macs(_volume(tile)) for tile, count in _tiles(parts, GROUPS))
        return {
            "vector_total": total / meter.scale,
            "vector_first": meter.cycles(_volume(_join(first, over))) / meter.scale,
            "vector_last": meter.cycles(_volume(_join(last, over))) / meter.scale,
        }


@dataclass(frozen=True)
class _ArrayMeter:
    fold: FoldFunction
    startup: int
    scale: float

    def figures(self, parts: Mapping[str, Classes], first: Extents, last: Extents) -> dict[str, float]:
        found = dict.fromkeys(("array_total", *STREAMS), 0.0)
        for tile, count in _tiles(parts, GROUPS):
            fold = self.fold(tile)
            found["array_total"] += count * (fold.cycles + self.startup) / self.scale
            for name in STREAMS:
                found[name] += count * fold.streams[name].accesses
        found["array_first"] = (self.fold(first).cycles + self.startup) / self.scale
        found["array_last"] = (self.fold(last).cycles + self.startup) / self.scale
        return found


class _VectorMeter:
    def __init__(self, unit: Vector, passes: int, slow: tuple[str, ...], dtype: str, scale: float) -> None:
        self.unit, self.passes, self.slow, self.dtype, self.scale = unit, passes, slow, dtype, scale
        self._memo: dict[int, int] = {}

    def cycles(self, elements: int) -> int:
        """A drain or a vector layer's tile."""
        found = self._memo.get(elements)
        if found is None:
            found = self._memo[elements] = vector_time(elements, self.passes, self.slow, self.unit, self.dtype)
        return found

    def macs(self, elements: int) -> int:
        """A tile of MACs on the lanes: one pass each."""
        return vector_time(elements, 1, (), self.unit, self.dtype)


def _tiles(parts: Mapping[str, Classes], groups: tuple[str, ...]) -> Iterator[tuple[Extents, int]]:
    """Distinct tiles over the groups and how often each occurs."""
    for combo in product(*(parts[group] for group in groups)):
        tile: Extents = ()
        count = 1
        for extents, times in combo:
            tile += extents
            count *= times
        yield tile, count


def _join(extents: Mapping[str, Extents], groups: tuple[str, ...]) -> Extents:
    return tuple(pair for group in groups for pair in extents[group])


def _volume(tile: Extents) -> int:
    return prod(size for _, size in tile)
