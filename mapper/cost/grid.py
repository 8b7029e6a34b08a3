"""The whole tiling grid of a layer at once: NumPy arrays over (B, M, N, K) cuts, for a loop order and keep depths.

A loop order lists groups, outermost first: M stands for all loops over M's dims, M2 for the strips that they run in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archsim.spec.architecture import Architecture
from mapper.cost.bounded_share import moved_share
from mapper.cost.tile_shares import Geometry, GroupCuts, Shares, TapCuts, geometry, tap_cuts
from mapper.problem.constraints import FREE, Rules
from mapper.problem.cuts import Cut, cuts, striped, tapped
from mapper.problem.geometry import Component, slot_padding
from mapper.problem.operands import ACC, BIAS, EPILOGUE, OUT, OperandPlan
from mapper.problem.packed import riding
from mapper.problem.problem import GROUPS, Problem

Reals = NDArray[np.float64]
STRIPS = "2"  # M2: the strips of M
TAPS = "taps"


@dataclass(frozen=True)
class Grid:
    """Cuts per group, the same with what they mean for operands (``parts``, per group or its strips), and the geometry
    they come from; ``variant`` as of ``build_grid``."""

    problem: Problem
    geometry: Geometry
    cuts: Mapping[str, list[Cut]]
    parts: Mapping[str, GroupCuts]
    variant: str = ""
    _traffic: dict[tuple[str, tuple[str, ...], int], Traffic] = field(default_factory=dict, repr=False)
    _slots: dict[tuple[str, frozenset[str]], tuple[Runs, Reals]] = field(default_factory=dict, repr=False)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of cuts of B, M, N, K."""
        return tuple(len(self.cuts[group]) for group in GROUPS)

    @cached_property
    def size(self) -> int:
        """Cells."""
        return prod(self.shape)

    def traffic(self, plan: OperandPlan, order: tuple[str, ...], depth: int) -> Traffic:
        """Traffic of an operand kept below the first ``depth`` groups of ``order``."""
        key = (plan.name, order, depth)
        if key not in self._traffic:
            self._traffic[key] = _traffic(self, plan, order, depth)
        return self._traffic[key]

    @cached_property
    def taps(self) -> TapCuts | None:
        """How cuts of the reduction cut its filter taps."""
        return tap_cuts(self.problem, self.cuts["K"])

    def shares(self, plan: OperandPlan, group: str, above: frozenset[str] = frozenset()) -> Shares:
        """The part in an operand of a group, or its strips, under each of its cuts, where the loops of these groups
        stand ``above`` its tiles."""
        return self.parts[group].shares(plan, self.taps if "K" in above else None)

    def slots(self, plan: OperandPlan, above: frozenset[str]) -> tuple[Runs, Reals]:
        """Of an operand kept below these groups: runs of a tile where it comes from, and bytes of a slot."""
        key = (plan.name, above)
        if key not in self._slots:
            parts = self.geometry.parts[plan.name]
            sizes = [_sizes(self, part, above) for part in parts]
            self._slots[key] = contiguous_runs(plan, parts, sizes), slot_bytes(self.problem, plan, parts, sizes)
        return self._slots[key]


def build_grid(
    problem: Problem, architecture: Architecture, rules: Rules = FREE, variant: str = "", plain: Grid | None = None
) -> Grid:
    """The grid of a problem on a chip under ``rules``; multiples are the array's sides where the layer runs on it.

    ``variant``: the group whose loops run in strips, TAPS where filter taps are cut, '' where neither is. May be empty
    then. ``plain``: the grid in which neither is, where it is there.
    """
    if plain is None:
        plain = _plain_grid(problem, architecture, rules)
    if variant == TAPS:
        cut = tapped(problem, _multiples(problem, architecture)["K"], plain.geometry.sliding, rules)
        own = {"K": GroupCuts(plain.geometry, "K", cut)}
        return Grid(problem, plain.geometry, {**plain.cuts, "K": cut}, {**plain.parts, **own}, variant)
    return _in_strips(plain, variant) if variant else plain


def _in_strips(plain: Grid, strips: str) -> Grid:
    """The same with the loops of a group in strips."""
    problem = plain.problem
    geo, made = plain.geometry, striped(plain.cuts[strips], problem)
    outer = [cut.strips(problem.dims, problem.groups[strips]) for cut in made]
    own = {strips: GroupCuts(geo, strips, made), f"{strips}{STRIPS}": GroupCuts(geo, strips, outer)}
    return Grid(problem, geo, {**plain.cuts, strips: made}, {**plain.parts, **own})


def _plain_grid(problem: Problem, architecture: Architecture, rules: Rules) -> Grid:
    geo, multiples = geometry(problem), _multiples(problem, architecture)
    found = {group: cuts(problem, group, multiples[group], geo.sliding, rules) for group in GROUPS}
    return Grid(problem, geo, found, {group: GroupCuts(geo, group, made) for group, made in found.items()})


def _multiples(problem: Problem, architecture: Architecture) -> Mapping[str, int]:
    rows, cols = sides(problem, architecture)
    if problem.engine != "array":
        return dict.fromkeys(GROUPS, 1)
    found = {"B": 1, "M": 1, "N": cols, "K": rows}
    for dim, size in riding(problem.layer).items():
        group = next(group for group in GROUPS if dim in problem.groups[group])
        found[group] = max(1, found[group] // size)
    return found


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
    step: Reals


@dataclass(frozen=True)
class Traffic:
    """Elements of one operand over the grid: slot, total brought (with and without padding), first tile, moves.

    ``slots`` held, one where there is one move in all passes, 0 where it needs none. Shaped to broadcast over the grid:
    what does not depend on the cuts of a group has one value along it.
    """

    slot: Reals
    filled: Reals
    touched: Reals
    first: Reals
    moves: Reals
    slides: NDArray[np.bool_]
    run: Reals  # elements of one contiguous run of a tile where it comes from (0: not known, where padding may cut it)
    step: Reals  # elements from the start of a run to that of the next one
    slot_bytes: Reals  # with the padding of its rows
    again: Reals  # how often every byte comes in
    slots: Reals

    @cached_property
    def needs(self) -> Reals:
        """Bytes that the operand holds in its memory: slots x slot bytes."""
        return self.slots * self.slot_bytes

    def at(self, cells: Cells) -> Flow:
        """The traffic in some cells, by their indices along each group."""
        return Flow(*cells.rows(self._flow))

    @cached_property
    def _flow(self) -> Reals:
        """The fields of a ``Flow``, one behind the other, each as large as all together."""
        return np.stack(np.broadcast_arrays(self.filled, self.touched, self.first, self.moves, self.run, self.step))


class Cells:
    """Some cells of a grid, by their indices along each group."""

    def __init__(self, numbers: NDArray[np.intp], shape: tuple[int, ...]) -> None:
        self.places = np.unravel_index(numbers, shape)
        self._size = numbers.shape
        self._along: dict[tuple[int, ...], tuple[Any, ...]] = {}
        self._alike: dict[Any, NDArray[Any]] = {}

    def of(self, figure: NDArray[Any]) -> NDArray[Any]:
        """A figure that broadcasts over the grid, in these cells: (n,); for reading alone."""
        if figure.size == 1:
            value = figure.item()
            if value not in self._alike:
                self._alike[value] = np.full(self._size, value)
            return self._alike[value]
        found: NDArray[Any] = figure[self._places(figure.shape)]
        return found

    def rows(self, figures: NDArray[Any]) -> NDArray[Any]:
        """Several figures, one behind the other, in these cells: (figures, n)."""
        shape = figures.shape[1:]
        if not shape or figures.size == len(figures):
            return np.broadcast_to(figures.reshape(-1, 1), (len(figures), *self._size))
        found: NDArray[Any] = figures[:, *self._places(shape)]
        return found

    def _places(self, shape: tuple[int, ...]) -> tuple[Any, ...]:
        """The indices of the cells in what broadcasts over the grid."""
        if shape not in self._along:
            sizes = zip(self.places, shape, strict=True)
            self._along[shape] = tuple([at if size > 1 else 0 for at, size in sizes])
        return self._along[shape]


def at(figure: NDArray[Any], cell: Sequence[int]) -> Any:
    """A figure that broadcasts over a grid, in one cell of it."""
    if figure.size == 1:
        return figure.item()
    return figure[tuple([index if size > 1 else 0 for index, size in zip(cell, figure.shape, strict=True)])]


def _traffic(grid: Grid, plan: OperandPlan, order: tuple[str, ...], depth: int) -> Traffic:
    """Worked out over those groups alone that each figure depends on."""
    slot = filled = touched = first = moves = again = np.ones(())
    inside = slides = np.zeros((), dtype=bool)  # inside: a moving loop lies deeper
    above = frozenset(order[:depth])
    for position in reversed(range(len(order))):
        group = order[position]
        of = grid.shares(plan, group, above)
        if position >= depth:
            if of.has_part and f"{group}{STRIPS}" not in order:  # the strips tell how much of it there is
                slot, filled = slot * of.whole_filled, filled * of.whole_filled
                touched, first = touched * of.whole_touched, first * of.whole_touched
            continue
        if of.has_part and not _is_counted_within(group, order, depth):
            slot, first = slot * of.tile, first * of.first
            if of.some_slide:
                can_slide = ~inside & of.may_slide
                slides = slides | can_slide
                filled = filled * np.where(can_slide, of.slide_filled, of.filled)
                touched = touched * np.where(can_slide, of.slide_touched, of.touched)
            else:
                filled, touched = filled * of.filled, touched * of.touched
        if of.some_repeat:
            repeats = np.where(inside, of.repeats, of.before)
            filled, touched, again = filled * repeats, touched * repeats, again * repeats
            moves = moves * of.moving_trips * repeats
        elif of.some_move:
            moves = moves * of.moving_trips
        inside = inside | of.moves if of.some_move else inside
    left = moved_share(grid.problem, plan, grid.cuts, above)
    filled, touched = filled * left, touched * left
    slots = np.minimum(plan.slots, moves * grid.problem.passes) if plan.buffered and not plan.resident else np.zeros(())
    beyond = filled if plan.beyond else touched  # tiles in a ring hold their padding
    runs, held = grid.slots(plan, above)
    return Traffic(slot, filled, beyond, first, moves, slides, *runs, held, again, slots)


def _is_counted_within(group: str, order: tuple[str, ...], depth: int) -> bool:
    """Whether these are strips whose tiles have loops above ``depth`` too: all tiles are summed up there."""
    return group.endswith(STRIPS) and order.index(group[0]) < depth


def slot_bytes(problem: Problem, plan: OperandPlan, parts: Sequence[Component], sizes: Sequence[Reals]) -> Reals:
    """Bytes of a slot whose components have so many positions, with the padding of its rows."""
    slot: Reals = prod(sizes, start=np.ones(())) * plan.element_bytes
    if not plan.pad_bytes:
        return slot
    padded = slot_padding(tuple(parts), problem.layer.dims, plan.element_bytes, plan.pad_bytes)
    return slot + prod(sizes[: padded.row_axis], start=np.ones(())) * padded.pad_bytes


class Runs(NamedTuple):
    """Elements of one contiguous run of a tile where it lies, and those from its start to the next one's."""

    length: Reals
    step: Reals


def contiguous_runs(plan: OperandPlan, parts: Sequence[Component], sizes: Sequence[Reals]) -> Runs:
    """The runs of a tile: innermost components join while each steps by what lies inside it. Of length 0 where that is
    not known, since padding may cut the tile; a tile of one run is a step long."""
    run, step = np.ones(()), np.zeros(())  # no step, while all components have joined
    joined = np.ones((), dtype=bool)
    for part, size in zip(reversed(parts), reversed(sizes), strict=True):
        if not part.terms:
            continue
        stride = plan.strides[part.axis] * part.unit
        joined = joined & ((stride == run) | (size == 1))
        if part.clip is not None:
            return Runs(np.where(joined, 0.0, run), np.where(step > 0, step, stride))
        run, step = np.where(joined, run * size, run), np.where(joined | (step > 0), step, stride)
    return Runs(run, np.maximum(run, step))


def _sizes(grid: Grid, part: Component, cut_groups: frozenset[str]) -> Reals:
    """Positions of a component in the largest tile, shaped to broadcast over the grid."""
    dims = grid.problem.dims
    whole = part.size(dims)
    size = np.full((1,) * len(GROUPS), float(whole))
    for axis, group in enumerate(GROUPS):
        if not any(dim in grid.problem.groups[group] for dim, _ in part.terms):
            continue
        if group in cut_groups:
            tiles = [cut.tiles for cut in grid.cuts[group]]
        elif f"{group}{STRIPS}" in cut_groups:
            tiles = [dict([cut.strip]) if cut.strip else {} for cut in grid.cuts[group]]
        else:
            continue
        less = [part.size({**dims, **tile}) - whole for tile in tiles]
        if any(less):
            size = size + np.array(less, dtype=np.float64).reshape([-1 if n == axis else 1 for n in range(len(GROUPS))])
    return size


def depths(grid: Grid, plan: OperandPlan, order: tuple[str, ...]) -> list[int]:
    """Depths at which an operand may be kept: below each group that moves it, or above all (0)."""
    moving = [i for i, group in enumerate(order) if grid.shares(plan, group).some_move]
    if plan.name in (OUT, ACC, BIAS, EPILOGUE) or plan.resident or grid.problem.engine == "copy":
        return [max((i + 1 for i in moving), default=0)]
    if plan.operand == OUT:
        return sorted({moving[0] + 1, moving[-1] + 1} if moving else {0}, reverse=True)
    return sorted({0, *(i + 1 for i in moving)}, reverse=True)
