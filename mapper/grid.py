"""The whole tiling grid of a layer at once: NumPy arrays over (B, M, N, K) cuts, for one loop order and keep depth each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from archsim.spec.architecture import Architecture
from mapper.candidates import Cut, cuts
from mapper.costs import ChipCosts, FoldFunction, drain_steps, fold_function, vector_time
from mapper.problem import ACC, BIAS, GROUPS, OUT, OperandPlan, Problem
from mapper.tables import Geometry, Share, classes, first_extents, geometry, last_extents, share

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """Cuts per group, shares per (operand, group), and the geometry they come from."""

    problem: Problem
    geometry: Geometry
    cuts: Mapping[str, list[Cut]]
    shares: Mapping[tuple[str, str], list[Share]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cuts of B, M, N, K."""
        return tuple(len(self.cuts[group]) for group in GROUPS)

    def column(self, operand: str, group: str, field: str) -> Array:
        """One field of an operand's shares, shaped to broadcast over the grid."""
        values = np.array([getattr(entry, field) for entry in self.shares[operand, group]], dtype=np.float64)
        return values.reshape([-1 if name == group else 1 for name in GROUPS])

    def trips(self, group: str) -> Array:
        """Trips of a group's loops, shaped to broadcast."""
        counts = np.array([cut.trips(self.problem.dims) for cut in self.cuts[group]], dtype=np.float64)
        return counts.reshape([-1 if name == group else 1 for name in GROUPS])


def build_grid(problem: Problem, architecture: Architecture) -> Grid:
    """The grid of a problem on a chip; multiples are the array's sides where the layer runs on it."""
    geo = geometry(problem)
    rows, cols = _sides(problem, architecture)
    multiples = {"B": 1, "M": 1, "N": cols, "K": rows}
    if problem.engine != "array":
        multiples = dict.fromkeys(GROUPS, 1)
    found = {group: cuts(problem, group, multiples[group], geo.sliding) for group in GROUPS}
    shares = {
        (plan.name, group): [share(geo, plan, group, cut) for cut in found[group]]
        for plan in problem.operands
        for group in GROUPS
    }
    return Grid(problem, geo, found, shares)


def _sides(problem: Problem, architecture: Architecture) -> tuple[int, int]:
    for array in architecture.arrays:
        if array.name == problem.unit:
            return array.rows, array.cols
    return 1, 1


@dataclass(frozen=True)
class Traffic:
    """Elements of one operand over the grid: slot, total brought (with and without padding), first tile, moves."""

    slot: Array
    filled: Array
    touched: Array
    first: Array
    moves: Array
    slides: NDArray[np.bool_]


def traffic(grid: Grid, plan: OperandPlan, order: tuple[str, ...], depth: int) -> Traffic:
    """Traffic of an operand kept below the first ``depth`` groups of ``order``."""
    one = np.ones(grid.shape)
    slot, filled, touched, first, moves = one.copy(), one.copy(), one.copy(), one.copy(), one.copy()
    inside = np.zeros(grid.shape, dtype=bool)  # a moving loop lies deeper
    slides = np.zeros(grid.shape, dtype=bool)
    for position in reversed(range(len(order))):
        group = order[position]
        if position >= depth:
            whole = grid.column(plan.name, group, "whole_filled")
            slot = slot * whole
            filled = filled * whole
            touched = touched * grid.column(plan.name, group, "whole_touched")
            first = first * grid.column(plan.name, group, "whole_touched")
            continue
        get = lambda name, group=group: grid.column(plan.name, group, name)  # noqa: E731
        can_slide = ~inside & (get("slide_filled") < get("filled"))
        slides |= can_slide
        slot = slot * get("tile")
        filled = filled * np.where(can_slide, get("slide_filled"), get("filled"))
        touched = touched * np.where(can_slide, get("slide_touched"), get("touched"))
        first = first * get("first")
        repeats = np.where(inside, get("before") * get("after"), get("before"))
        filled, touched = filled * repeats, touched * repeats
        relevant = get("trips") / (get("before") * get("after"))
        moves = moves * relevant * repeats
        inside = inside | (get("moves") > 0)
    return Traffic(slot, filled, touched, first, moves, slides)


@dataclass(frozen=True)
class Work:
    """Cycles of array and vector unit over the grid (reference clock), and edge streams of the array in elements."""

    array_total: Array
    array_first: Array
    array_last: Array
    vector_total: Array
    vector_first: Array
    vector_last: Array
    edge: Mapping[str, Array]


def work(grid: Grid, chip: ChipCosts, dtypes: Mapping[str, str], feasible: NDArray[np.bool_]) -> Work:
    """Cycle totals for every feasible cell (others stay infinite)."""
    names = ("array_total", "array_first", "array_last", "vector_total", "vector_first", "vector_last", "a", "b", "acc_read", "acc_write")
    out = {name: np.full(grid.shape, np.inf) for name in names}
    meter = _Meter(grid, chip, dtypes)
    for cell in map(tuple, np.argwhere(feasible)):
        for name, value in meter.cell(cell).items():
            out[name][cell] = value
    edge = {name: out.pop(name) for name in ("a", "b", "acc_read", "acc_write")}
    return Work(**out, edge=edge)


class _Meter:
    """Cycles of one cell; folds and vector times are memoised over cells."""

    def __init__(self, grid: Grid, chip: ChipCosts, dtypes: Mapping[str, str]) -> None:
        problem, architecture = grid.problem, chip.architecture
        self.grid, self.dims, self.groups = grid, problem.dims, problem.groups
        self.fold: FoldFunction | None = None
        self.array_scale = self.vector_scale = 1.0
        if problem.engine == "array":
            array = next(part for part in architecture.arrays if part.name == problem.unit)
            self.fold = fold_function(problem.layer, array, dtypes)
            self.array_scale, self.startup = chip.scale(array), array.startup_cycles
        self.vector = architecture.vectors[0] if architecture.vectors and problem.engine != "copy" else None
        if self.vector is not None:
            self.vector_scale = chip.scale(self.vector)
        self.steps = drain_steps(problem.layer)
        self.dtype = problem.operand(OUT).dtype
        self.classes = {g: [classes(cut, self.dims, self.groups[g]) for cut in grid.cuts[g]] for g in GROUPS}
        self.last = {g: [last_extents(cut, self.dims, self.groups[g]) for cut in grid.cuts[g]] for g in GROUPS}
        self.first = {g: [first_extents(cut, self.groups[g]) for cut in grid.cuts[g]] for g in GROUPS}
        self.vector_memo: dict[int, int] = {}

    def cell(self, cell: tuple[int, ...]) -> dict[str, float]:
        """All figures of one cell."""
        figures = dict.fromkeys(("array_total", "array_first", "array_last", "vector_total", "a", "b", "acc_read", "acc_write"), 0.0)
        figures["vector_first"] = figures["vector_last"] = 0.0
        parts = [self.classes[g][i] for g, i in zip(GROUPS, cell, strict=True)]
        first = sum((self.first[g][i] for g, i in zip(GROUPS, cell, strict=True)), ())
        last = sum((self.last[g][i] for g, i in zip(GROUPS, cell, strict=True)), ())
        if self.fold is not None:
            self._array(figures, parts, first, last)
        if self.vector is not None:
            self._vector(figures, parts, dict(first), dict(last))
        return figures

    def _array(self, figures: dict[str, float], parts: list[list], first: tuple, last: tuple) -> None:  # type: ignore[type-arg]
        assert self.fold is not None
        for b, nb in parts[0]:
            for m, nm in parts[1]:
                for n, nn in parts[2]:
                    for k, nk in parts[3]:
                        fold, count = self.fold(b + m + n + k), nb * nm * nn * nk
                        figures["array_total"] += count * (fold.cycles + self.startup) / self.array_scale
                        for name in ("a", "b", "acc_read", "acc_write"):
                            figures[name] += count * fold.streams[name].accesses
        figures["acc_read"] -= prod(self.dims[d] for g in ("B", "M", "N") for d in self.groups[g])
        figures["array_first"] = (self.fold(first).cycles + self.startup) / self.array_scale
        figures["array_last"] = (self.fold(last).cycles + self.startup) / self.array_scale

    def _vector(self, figures: dict[str, float], parts: list[list], first: dict[str, int], last: dict[str, int]) -> None:  # type: ignore[type-arg]
        over = ("B", "M", "N") if self.grid.problem.accumulates else GROUPS
        total = 0
        for b, nb in parts[0]:
            for m, nm in parts[1]:
                for n, nn in parts[2]:
                    ks = parts[3] if "K" in over else [((), 1)]
                    for k, nk in ks:
                        total += nb * nm * nn * nk * self._vector_cycles(prod(size for _, size in b + m + n + k))
        names = [d for g in over for d in self.groups[g]]
        figures["vector_total"] = (total + self._mac_cycles(parts)) / self.vector_scale
        figures["vector_first"] = self._vector_cycles(prod(first[d] for d in names)) / self.vector_scale
        figures["vector_last"] = self._vector_cycles(prod(last[d] for d in names)) / self.vector_scale

    def _mac_cycles(self, parts: list[list]) -> int:  # type: ignore[type-arg]
        """MACs of a matmul that runs on the vector unit: one pass per MAC."""
        if self.fold is not None or not self.grid.problem.accumulates:
            return 0
        assert self.vector is not None
        total = 0
        for b, nb in parts[0]:
            for m, nm in parts[1]:
                for n, nn in parts[2]:
                    for k, nk in parts[3]:
                        elements = prod(size for _, size in b + m + n + k)
                        total += nb * nm * nn * nk * vector_time(elements, 1, (), self.vector, self.dtype)
        return total

    def _vector_cycles(self, elements: int) -> int:
        found = self.vector_memo.get(elements)
        if found is None:
            assert self.vector is not None
            passes, slow, _ = self.steps
            found = self.vector_memo[elements] = vector_time(elements, passes, slow, self.vector, self.dtype)
        return found


def needs(plan: OperandPlan, moved: Traffic) -> Array:
    """Bytes that an operand holds in its memory: slots (one when it is brought once) x slot bytes, 0 when resident."""
    if plan.resident or not plan.buffered:
        return np.zeros(moved.slot.shape)
    slots = np.minimum(plan.slots, moved.moves)
    return slots * moved.slot * plan.element_bytes


def depths(grid: Grid, plan: OperandPlan, order: tuple[str, ...]) -> list[int]:
    """Depths at which an operand may be kept: below each group that moves it, or above all (0)."""
    moving = [i for i, group in enumerate(order) if any(entry.moves for entry in grid.shares[plan.name, group])]
    if plan.name in (OUT, ACC):
        return [max((i + 1 for i in moving), default=0)]
    if plan.name == BIAS or plan.resident:
        return [max((i + 1 for i in moving), default=0)]
    return sorted({0, *(i + 1 for i in moving)}, reverse=True)
