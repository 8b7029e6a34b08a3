"""The whole tiling grid of a layer at once: NumPy arrays over (B, M, N, K) cuts, for a loop order and keep depths.

A loop order lists groups, outermost first: M stands for all loops over M's dims, M2 for the strips that they run in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archsim.spec.architecture import Architecture
from mapper.cost.tile_shares import Geometry, Share, geometry, shares
from mapper.problem.constraints import FREE, Rules
from mapper.problem.cuts import Cut, cuts, striped
from mapper.problem.geometry import Component, slot_padding
from mapper.problem.operands import ACC, BIAS, OUT, OperandPlan
from mapper.problem.problem import GROUPS, Problem

Reals = NDArray[np.float64]
STRIPS = "2"  # M2: the strips of M


@dataclass(frozen=True)
class Grid:
    """Cuts per group, shares per (operand, group or its strips), and the geometry they come from."""

    problem: Problem
    geometry: Geometry
    cuts: Mapping[str, list[Cut]]
    shares: Mapping[tuple[str, str], list[Share]]
    _columns: dict[tuple[str, str, str], Reals] = field(default_factory=dict, repr=False)
    _traffic: dict[tuple[str, tuple[str, ...], int], Traffic] = field(default_factory=dict, repr=False)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of cuts of B, M, N, K."""
        return tuple(len(self.cuts[group]) for group in GROUPS)

    @cached_property
    def size(self) -> int:
        """Cells."""
        return prod(self.shape)

    def column(self, operand: str, group: str, figure: str) -> Reals:
        """One field of an operand's shares, shaped to broadcast over the grid."""
        key = (operand, group, figure)
        if key not in self._columns:
            values = np.array([getattr(entry, figure) for entry in self.shares[operand, group]], dtype=np.float64)
            self._columns[key] = values.reshape([-1 if name == group[0] else 1 for name in GROUPS])
        return self._columns[key]

    def traffic(self, plan: OperandPlan, order: tuple[str, ...], depth: int) -> Traffic:
        """Traffic of an operand kept below the first ``depth`` groups of ``order``."""
        key = (plan.name, order, depth)
        if key not in self._traffic:
            self._traffic[key] = _traffic(self, plan, order, depth)
        return self._traffic[key]


def build_grid(
    problem: Problem, architecture: Architecture, rules: Rules = FREE, strips: str = "", known: Geometry | None = None
) -> Grid:
    """The grid of a problem on a chip under ``rules``; multiples are the array's sides where the layer runs on it.

    ``strips``: the group whose loops run in strips, '' for none. May be empty then. ``known``: the problem's geometry.
    """
    geo = known or geometry(problem)
    rows, cols = sides(problem, architecture)
    multiples = {"B": 1, "M": 1, "N": cols, "K": rows}
    if problem.engine != "array":
        multiples = dict.fromkeys(GROUPS, 1)
    found = {group: cuts(problem, group, multiples[group], geo.sliding, rules) for group in GROUPS}
    outer = {}
    if strips:
        found[strips] = striped(found[strips], problem.dims)
        outer = {f"{strips}{STRIPS}": [cut.strips(problem.dims, problem.groups[strips]) for cut in found[strips]]}
    parts = {
        (plan.name, group): shares(geo, plan, group[0], made)
        for plan in problem.operands
        for group, made in (found | outer).items()
    }
    return Grid(problem, geo, found, parts)


def sides(problem: Problem, architecture: Architecture) -> tuple[int, int]:
    """Rows and columns of the array that a problem runs on, (1, 1) of another unit."""
    for array in architecture.arrays:
        if array.name == problem.unit:
            return array.rows, array.cols
    return 1, 1


class Flow(NamedTuple):
    """Of one operand's traffic what costs are made of, in some cells of a grid: (n,) arrays as of ``Traffic``."""

    filled: Reals
    touched: Reals
    first: Reals
    moves: Reals
    run: Reals


@dataclass(frozen=True)
class Traffic:
    """Elements of one operand over the grid: slot, total brought (with and without padding), first tile, moves.

    ``slots`` held, one where there is one move, 0 where it needs none.
    """

    slot: Reals
    filled: Reals
    touched: Reals
    first: Reals
    moves: Reals
    slides: NDArray[np.bool_]
    run: Reals  # elements of one contiguous run of a tile in DRAM (0: not known, where padding may cut it)
    slot_bytes: Reals  # with the padding of its rows
    again: Reals  # how often every byte comes in
    slots: Reals

    @cached_property
    def needs(self) -> Reals:
        """Bytes that the operand holds in its memory: slots x slot bytes."""
        return self.slots * self.slot_bytes

    def at(self, cells: tuple[NDArray[np.intp], ...]) -> Flow:
        """The traffic in some cells, by their indices along each group."""
        fields = (self.filled, self.touched, self.first, self.moves, self.run)
        return Flow(*(field[cells] for field in fields))


def _traffic(grid: Grid, plan: OperandPlan, order: tuple[str, ...], depth: int) -> Traffic:
    """Worked out over those groups alone that each figure depends on."""
    one = np.ones(())
    slot = filled = touched = first = moves = again = one
    inside = np.zeros((), dtype=bool)  # a moving loop lies deeper
    slides = np.zeros((), dtype=bool)
    for position in reversed(range(len(order))):
        group = order[position]
        get = partial(grid.column, plan.name, group)
        if position >= depth:
            if f"{group}{STRIPS}" in order:  # the strips tell how much of it there is
                continue
            slot, filled = slot * get("whole_filled"), filled * get("whole_filled")
            touched, first = touched * get("whole_touched"), first * get("whole_touched")
            continue
        if not _is_counted_within(group, order, depth):
            can_slide = ~inside & (get("slide_filled") < get("filled"))
            slides = slides | can_slide
            slot = slot * get("tile")
            filled = filled * np.where(can_slide, get("slide_filled"), get("filled"))
            touched = touched * np.where(can_slide, get("slide_touched"), get("touched"))
            first = first * get("first")
        repeats = np.where(inside, get("before") * get("after"), get("before"))
        filled, touched, again = filled * repeats, touched * repeats, again * repeats
        relevant = get("trips") / (get("before") * get("after"))
        moves = moves * relevant * repeats
        inside = inside | (get("moves") > 0)
    parts = grid.geometry.parts[plan.name]
    sizes = [_sizes(grid, part, order[:depth]) for part in parts]
    slots = np.minimum(plan.slots, moves) if plan.buffered and not plan.resident else np.zeros(())
    beyond = filled if plan.beyond else touched  # tiles in a ring hold their padding
    run, held = contiguous_run(plan, parts, sizes), slot_bytes(grid.problem, plan, parts, sizes)
    figures = (slot, filled, beyond, first, moves, slides, run, held, again, slots)
    return Traffic(*(np.broadcast_to(figure, grid.shape) for figure in figures))


def _is_counted_within(group: str, order: tuple[str, ...], depth: int) -> bool:
    """Whether these are strips whose tiles have loops above ``depth`` too: all tiles are summed up there."""
    return group.endswith(STRIPS) and order.index(group[0]) < depth


def slot_bytes(problem: Problem, plan: OperandPlan, parts: Sequence[Component], sizes: Sequence[Reals]) -> Reals:
    """Bytes of a slot whose components have so many positions, with the padding of its rows."""
    padded = slot_padding(tuple(parts), problem.layer.dims, plan.element_bytes, plan.pad_bytes)
    slot: Reals = prod(sizes, start=np.ones(())) * plan.element_bytes
    if not padded.pad_bytes:
        return slot
    return slot + prod(sizes[: padded.row_axis], start=np.ones(())) * padded.pad_bytes


def contiguous_run(plan: OperandPlan, parts: Sequence[Component], sizes: Sequence[Reals]) -> Reals:
    """Contiguous elements of a tile in DRAM: innermost components join while each steps by what lies inside it. 0 where
    that is not known, since padding may cut the tile."""
    run = np.ones(())
    joined = np.ones((), dtype=bool)
    for part, size in zip(reversed(parts), reversed(sizes), strict=True):
        if not part.terms:
            continue
        joined = joined & ((plan.strides[part.axis] * part.unit == run) | (size == 1))
        if part.clip is not None:
            return np.where(joined, 0.0, run)
        run = np.where(joined, run * size, run)
    return run


def _sizes(grid: Grid, part: Component, cut_groups: tuple[str, ...]) -> Reals:
    """Positions of a component in the largest tile, shaped to broadcast over the grid."""
    dims = grid.problem.dims
    for axis, group in enumerate(GROUPS):
        if not any(dim in grid.problem.groups[group] for dim, _ in part.terms):
            continue
        if group in cut_groups:
            tiles = [cut.tiles for cut in grid.cuts[group]]
        elif f"{group}{STRIPS}" in cut_groups:
            tiles = [dict([cut.strip]) if cut.strip else {} for cut in grid.cuts[group]]
        else:
            continue
        sizes = [float(part.size({**dims, **tile})) for tile in tiles]
        return np.array(sizes).reshape([-1 if other == axis else 1 for other in range(len(GROUPS))])
    return np.full((1,) * len(GROUPS), float(part.size(dims)))


def depths(grid: Grid, plan: OperandPlan, order: tuple[str, ...]) -> list[int]:
    """Depths at which an operand may be kept: below each group that moves it, or above all (0)."""
    moving = [i for i, group in enumerate(order) if any(entry.moves for entry in grid.shares[plan.name, group])]
    if plan.name in (OUT, ACC, BIAS) or plan.resident or grid.problem.engine == "copy":
        return [max((i + 1 for i in moving), default=0)]
    if plan.operand == OUT:
        return sorted({moving[0] + 1, moving[-1] + 1} if moving else {0}, reverse=True)
    return sorted({0, *(i + 1 for i in moving)}, reverse=True)
