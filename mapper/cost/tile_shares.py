"""Per-group tables: what each cut of a group means for each operand. Products over groups give tiles and traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from mapper.cost.tile_classes import TileClasses, tile_classes
from mapper.problem.cuts import Cut
from mapper.problem.geometry import UNCUT, Component, components, sums
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import GROUPS, Problem

Column = NDArray[np.float64]  # shaped to broadcast over a grid
Summed = tuple[int, str | None, int, int, tuple[tuple[str, int], ...]]  # component, dim, its tile, strip, taps


@dataclass(frozen=True, slots=True)
class Shares:
    """One group's part in one operand under each of its cuts, in elements (multiply over groups), shaped to broadcast
    over a grid.

    ``tile``: slot size; ``filled``, ``touched``: sum over tiles including / inside padding; ``slide_*``: the same when
    the window slides; ``first``: touched by the first tile; ``whole_*``: the group not cut; ``before``: trips
    of loops that do not move the operand, outside its innermost moving loop, ``repeats``: of all of them;
    ``moving_trips``: of those that do; ``moves``: there is one. ``has_part``: some of the operand's components are the
    group's; ``some_*``: under one cut or another.
    """

    tile: Column
    filled: Column
    touched: Column
    slide_filled: Column
    slide_touched: Column
    first: Column
    whole_filled: int
    whole_touched: int
    before: Column
    repeats: Column
    moving_trips: Column
    may_slide: NDArray[np.bool_]
    moves: NDArray[np.bool_]
    has_part: bool
    some_slide: bool
    some_repeat: bool
    some_move: bool


@dataclass(frozen=True)
class Geometry:
    """Components of every operand of a problem, each assigned to the group of its tiled dim; ``summed``: what is known
    of their tiles."""

    problem: Problem
    parts: Mapping[str, tuple[Component, ...]]
    sliding: str | None  # the dim along which windows may slide
    summed: dict[Summed, tuple[int, int, int]] = field(default_factory=dict, repr=False)

    def group_parts(self, plan: OperandPlan, group: str) -> tuple[Component, ...]:
        """Components of an operand that belong to a group."""
        return tuple(part for part in self.parts[plan.name] if self._group(part) == group)

    def _group(self, part: Component) -> str:
        dim = part.tiled_dim(self.problem.beside)
        names = [dim] if dim is not None else [name for name, _ in part.terms]
        for group, dims in self.problem.groups.items():
            if names and names[0] in dims:
                return group
        return "K"


def geometry(problem: Problem) -> Geometry:
    """Components per operand and the sliding dim.

    The first cuttable output row dim with a halo in some read operand.
    """
    parts = {plan.name: components(plan.axes, plan.shape, problem.layer.dims) for plan in problem.operands}
    return Geometry(problem, parts, _sliding_dim(problem, parts))


def _sliding_dim(problem: Problem, parts: Mapping[str, tuple[Component, ...]]) -> str | None:
    for plan in problem.reads:
        for part in parts[plan.name]:
            dim = part.tiled_dim(problem.beside)
            if dim is not None and _overlaps(part, dim, problem.dims) and not plan.resident:
                return dim if _leads(parts[plan.name], part, dim, problem) else None
    return None


def _overlaps(part: Component, dim: str, dims: Mapping[str, int]) -> bool:
    return part.size({name: (1 if name == dim else dims[name]) for name, _ in part.terms}) > part.step(dim)


def _leads(parts: tuple[Component, ...], part: Component, dim: str, problem: Problem) -> bool:
    """Rows slide only when the axes outside theirs are cut to one (images), so that a slot is a block of rows."""
    outer = parts[: parts.index(part)]
    return all(other.tiled_dim(problem.beside) is not None or not other.terms for other in outer)


@dataclass(frozen=True)
class TapCuts:
    """How cuts of a reduction cut its filter taps: the different ``tiles`` of them, the first of which cut none, and
    which ones each cut has (``at``)."""

    tiles: tuple[Mapping[str, int], ...]
    at: tuple[int, ...]

    @cached_property
    def content(self) -> tuple[object, ...]:
        """What tells them from others."""
        return tuple(tuple(tiles.items()) for tiles in self.tiles), self.at


def tap_cuts(problem: Problem, made: Sequence[Cut]) -> TapCuts | None:
    """Of cuts of the reduction; None where no taps are cut."""
    found = [
        {tap: cut.tiles[tap] for tap in sorted(problem.taps) if cut.tiles[tap] < problem.dims[tap]} for cut in made
    ]
    different: list[Mapping[str, int]] = [UNCUT]
    different += [each for number, each in enumerate(found) if each and each not in found[:number]]
    if len(different) == 1:
        return None
    return TapCuts(tuple(different), tuple(different.index(each) for each in found))


class GroupCuts:
    """Some cuts of a group, with what they mean for every operand."""

    def __init__(self, geo: Geometry, group: str, made: Sequence[Cut]) -> None:
        self.made, self._geo, self._group, dims = made, geo, group[0], geo.problem.dims
        self._shape = [-1 if name == self._group else 1 for name in GROUPS]
        self._trips = [cut.trips(dims) for cut in made]
        self._looped = frozenset(dim for cut in made for dim, _ in cut.loops)
        self._tiles = {dim: [cut.tiles[dim] for cut in made] for dim in self._looped}
        self._repeats: dict[frozenset[str], tuple[list[int], list[int], list[bool]]] = {}
        self._shares: dict[tuple[str, object], Shares] = {}

    def shares(self, plan: OperandPlan, taps: TapCuts | None = None) -> Shares:
        """The group's part in an operand under each cut; ``taps``: how loops outside its tiles cut the filter taps."""
        key = plan.name, taps.content if taps is not None else None
        if key not in self._shares:
            parts = self._geo.group_parts(plan, self._group)
            moved = taps is not None and self._group != "K" and _has_taps(parts, taps)
            self._shares[key] = self._of(plan, parts, taps if moved else None)
        return self._shares[key]

    def _of(self, plan: OperandPlan, parts: Sequence[Component], taps: TapCuts | None) -> Shares:
        whole = [_summed(part, self._geo, None) for part in parts]
        plain = self._totals(parts, {}, taps)
        slid = plain
        if self._geo.sliding in self._looped and any(self._slides(part) for part in parts):
            slid = self._totals(parts, self._slid(plan), taps)
        before, after, moves = self._repeated(plan)
        repeats = self._column(before) * self._column(after)
        filled, slide_filled = self._under(plain[..., 0], taps), self._under(slid[..., 0], taps)
        may_slide = slide_filled < filled
        return Shares(
            tile=self._under(self._sizes(parts, taps), taps),
            filled=filled,
            touched=self._under(plain[..., 1], taps),
            slide_filled=slide_filled,
            slide_touched=self._under(slid[..., 1], taps),
            first=self._under(plain[..., 2], taps),
            whole_filled=prod([entry[0] for entry in whole]),
            whole_touched=prod([entry[1] for entry in whole]),
            before=self._column(before),
            repeats=repeats,
            moving_trips=self._column(self._trips) / repeats,
            may_slide=may_slide,
            moves=np.array(moves, dtype=bool).reshape(self._shape),
            has_part=bool(parts),
            some_slide=bool(may_slide.any()),
            some_repeat=bool((repeats != 1).any()),
            some_move=any(moves),
        )

    @cached_property
    def classes(self) -> TileClasses:
        """Their different tiles. A dataflow may tell dims of the reduction apart, and of the output rows where windows
        slide over them."""
        problem, group = self._geo.problem, self._group
        apart = group == "K" or (group == "M" and bool(problem.windows))
        return tile_classes(self.made, problem.dims, problem.groups[group], apart=apart)

    def _column(self, figures: Sequence[int] | IntArray) -> Column:
        return np.array(figures, dtype=np.float64).reshape(self._shape)

    def _under(self, figures: IntArray, taps: TapCuts | None) -> Column:
        """Figures (tiles of taps, cuts) under each cut, and under each of the reduction where those cut ``taps``."""
        if taps is None:
            return self._column(figures[0])
        shape = [len(taps.at) if name == "K" else size for name, size in zip(GROUPS, self._shape, strict=True)]
        return figures[list(taps.at)].T.astype(np.float64).reshape(shape)

    def _slides(self, part: Component) -> bool:
        return part.tiled_dim(self._geo.problem.beside) == self._geo.sliding

    def _slid(self, plan: OperandPlan) -> dict[int, int]:
        """Numbers of the cuts over whose innermost loop windows of an operand may slide, with its strip there."""
        geo, dims, found = self._geo, self._geo.problem.dims, dict[int, int]()
        if plan.still:
            return found
        for number, cut in enumerate(self.made):
            innermost = cut.loops[-1][0] if cut.loops else None
            if innermost is not None and innermost == geo.sliding and is_block(geo, plan, {**dims, **cut.tiles}):
                found[number] = cut.reach(innermost, dims)
        return found

    def _sizes(self, parts: Sequence[Component], taps: TapCuts | None) -> IntArray:
        """(tiles of taps, n) Elements of a slot."""
        along = taps.tiles if taps is not None else (UNCUT,)
        found = np.ones((len(along), len(self.made)), dtype=np.int64)
        for part in parts:
            last = np.zeros((len(along), len(self.made)), dtype=np.int64)
            for dim, coef in part.terms:
                extent = self._geo.problem.dims[dim]
                tiles = np.array(self._tiles.get(dim, extent))
                fewer = np.array([[tap[dim] - extent if dim in tap else 0] for tap in along])
                last = last + coef * (tiles - 1 + fewer)
            found = found * (last + 1)
        return found

    def _totals(self, parts: Sequence[Component], slid: Mapping[int, int], taps: TapCuts | None) -> IntArray:
        """(tiles of taps, n, 3) Filled, touched and touched by the first of all tiles under each cut, where windows
        slide under those that are ``slid``, in strips, and no taps are cut."""
        along = taps.tiles if taps is not None else (UNCUT,)
        found = np.ones((len(along), len(self.made), 3), dtype=np.int64)
        for part in parts:
            for number, tiles in enumerate(along):
                own = part.taps(tiles, None)
                sliding = slid if self._slides(part) and not own else {}
                found[number] *= np.array(self._sums(part, sliding, own), dtype=np.int64)
        return found

    def _sums(self, part: Component, slid: Mapping[int, int], taps: Mapping[str, int]) -> list[tuple[int, int, int]]:
        """The same of one component, with ``taps`` that are cut beside the dim that its tiles follow."""
        geo, problem = self._geo, self._geo.problem
        dim = part.tiled_dim(problem.beside)
        own = [name for name, _ in part.terms if name in problem.taps and name in self._tiles]
        if own:
            return [_summed(part, geo, None, taps=part.taps(cut.tiles, None)) for cut in self.made]
        if dim is None or dim not in self._tiles:
            return [_summed(part, geo, None, taps=taps)]
        extent, tiles = problem.dims[dim], self._tiles[dim]
        by_tile = {tile: _summed(part, geo, dim if tile < extent else None, tile, taps=taps) for tile in set(tiles)}
        found = [by_tile[tile] for tile in tiles]
        for number, strip in slid.items():
            found[number] = _summed(part, geo, dim, tiles[number], strip)
        return found

    def _repeated(self, plan: OperandPlan) -> tuple[list[int], list[int], list[bool]]:
        """Trips of loops that do not move an operand, outside and inside its innermost moving one, and whether there is
        such a one."""
        moving = plan.dims & self._looped
        if not moving:
            return [1] * len(self.made), self._trips, [False] * len(self.made)
        if moving not in self._repeats:
            dims = self._geo.problem.dims
            before, after, moves = zip(*(_irrelevant(moving, cut, dims) for cut in self.made), strict=True)
            self._repeats[moving] = list(before), list(after), list(moves)
        return self._repeats[moving]


def is_block(geo: Geometry, plan: OperandPlan, tiles: Mapping[str, int]) -> bool:
    """Whether a slot is one block of rows of the sliding axis: nothing outside it has more than one position."""
    for part in geo.parts[plan.name]:
        if geo.sliding in dict(part.terms):
            return True
        if part.size(tiles) > 1:
            return False
    return True


def _has_taps(parts: Sequence[Component], taps: TapCuts) -> bool:
    """Whether any of these components has taps that are cut."""
    cut = {tap for tiles in taps.tiles for tap in tiles}
    return any(dim in cut for part in parts for dim, _ in part.terms)


def _summed(
    part: Component,
    geo: Geometry,
    dim: str | None,
    tile: int = 0,
    strip: int = 0,
    taps: Mapping[str, int] = UNCUT,
) -> tuple[int, int, int]:
    """(filled, touched, touched by the first) of all tiles; in ``strip`` they slide (0: they do not). ``taps``: those
    that are cut, beside ``dim``."""
    key = (id(part), dim, tile if dim is not None else 0, strip, tuple(taps.items()))
    found = geo.summed.get(key)
    if found is None:
        found = geo.summed[key] = sums(part, dim, tile, geo.problem.dims, strip, taps)
    return found


def _irrelevant(moving: frozenset[str], cut: Cut, dims: Mapping[str, int]) -> tuple[int, int, bool]:
    before = after = 1
    moves = False
    for dim, tile in reversed(cut.loops):
        if dim in moving:
            moves = True
        elif moves:
            before *= cut.trips_of(dim, tile, dims)
        else:
            after *= cut.trips_of(dim, tile, dims)
    return before, after, moves
