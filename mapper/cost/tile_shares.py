"""Per-group tables: what each cut of a group means for each operand. Products over groups give tiles and traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from mapper.problem.cuts import Cut
from mapper.problem.geometry import Component, components, ranges
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import Problem

Extents = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Share:
    """One group's part in one operand under one cut, in elements (multiply over groups).

    ``tile``: slot size; ``filled``, ``touched``: sum over tiles including / inside padding; ``slide_*``: the same when
    the window slides; ``first``: touched by the first tile; ``whole_*``: the group not cut; ``before``, ``after``:
    trips of loops that do not move the operand, outside and inside its innermost moving loop; ``moves``: has a moving
    loop.
    """

    tile: int
    filled: int
    touched: int
    slide_filled: int
    slide_touched: int
    first: int
    whole_filled: int
    whole_touched: int
    before: int
    after: int
    trips: int
    moves: bool


@dataclass(frozen=True)
class Geometry:
    """Components of every operand of a problem, each assigned to the group of its tiled dim."""

    problem: Problem
    parts: Mapping[str, tuple[Component, ...]]
    sliding: str | None  # the dim along which windows may slide
    memo: dict[tuple[int, str | None, int, int], tuple[int, int, int]] = field(default_factory=dict, repr=False)

    def group_parts(self, plan: OperandPlan, group: str) -> tuple[Component, ...]:
        """Components of an operand that belong to a group."""
        return tuple(part for part in self.parts[plan.name] if self._group(part) == group)

    def _group(self, part: Component) -> str:
        dim = part.tiled_dim(self.problem.whole)
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
            dim = part.tiled_dim(problem.whole)
            if dim is not None and _overlaps(part, dim, problem.dims) and not plan.resident:
                return dim if _leads(parts[plan.name], part, dim, problem) else None
    return None


def _overlaps(part: Component, dim: str, dims: Mapping[str, int]) -> bool:
    return part.size({name: (1 if name == dim else dims[name]) for name, _ in part.terms}) > part.step(dim)


def _leads(parts: tuple[Component, ...], part: Component, dim: str, problem: Problem) -> bool:
    """Rows slide only when the axes outside theirs are cut to one (images), so that a slot is a block of rows."""
    outer = parts[: parts.index(part)]
    return all(other.tiled_dim(problem.whole) is not None or not other.terms for other in outer)


def shares(geo: Geometry, plan: OperandPlan, group: str, made: Sequence[Cut]) -> list[Share]:
    """The group's part in an operand under each cut."""
    parts = geo.group_parts(plan, group)
    whole = [_summed(part, geo, None) for part in parts]
    wholes = prod([entry[0] for entry in whole]), prod([entry[1] for entry in whole])
    return [_share(geo, plan, parts, wholes, cut) for cut in made]


def _share(geo: Geometry, plan: OperandPlan, parts: Sequence[Component], wholes: tuple[int, int], cut: Cut) -> Share:
    """Of ``parts`` of an operand under a cut; ``wholes``: filled and touched where it is not cut."""
    dims = geo.problem.dims
    tiles = {**dims, **cut.tiles}
    slide = geo.sliding if cut.loops and cut.loops[-1][0] == geo.sliding and is_block(geo, plan, tiles) else None
    plain = [_sums(part, cut, geo, None) for part in parts]
    slid = [_sums(part, cut, geo, slide) for part in parts] if slide else plain
    before, after, moves = _irrelevant(plan, cut, dims)
    return Share(
        tile=prod([part.size(tiles) for part in parts]),
        filled=prod([entry[0] for entry in plain]),
        touched=prod([entry[1] for entry in plain]),
        slide_filled=prod([entry[0] for entry in slid]),
        slide_touched=prod([entry[1] for entry in slid]),
        first=prod([entry[2] for entry in plain]),
        whole_filled=wholes[0],
        whole_touched=wholes[1],
        before=before,
        after=after,
        trips=cut.trips(dims),
        moves=moves,
    )


def is_block(geo: Geometry, plan: OperandPlan, tiles: Mapping[str, int]) -> bool:
    """Whether a slot is one block of rows of the sliding axis: nothing outside it has more than one position."""
    for part in geo.parts[plan.name]:
        if geo.sliding in dict(part.terms):
            return True
        if part.size(tiles) > 1:
            return False
    return True


def _sums(part: Component, cut: Cut, geo: Geometry, slide: str | None) -> tuple[int, int, int]:
    problem = geo.problem
    dim = part.tiled_dim(problem.whole)
    if dim is None or cut.tiles.get(dim, problem.dims[dim]) >= problem.dims[dim]:
        return _summed(part, geo, None)
    strip = cut.reach(dim, problem.dims) if dim == slide else 0
    return _summed(part, geo, dim, cut.tiles[dim], strip)


def _summed(part: Component, geo: Geometry, dim: str | None, tile: int = 0, strip: int = 0) -> tuple[int, int, int]:
    """(filled, touched, touched by the first) of all tiles; in ``strip`` they slide (0: they do not)."""
    key = (id(part), dim, tile, strip)
    found = geo.memo.get(key)
    if found is None:
        filled, touched = ranges(part, dim, tile, geo.problem.dims, strip > 0, strip)
        found = geo.memo[key] = (int(filled.sum()), int(touched.sum()), int(touched[0]))
    return found


def _irrelevant(plan: OperandPlan, cut: Cut, dims: Mapping[str, int]) -> tuple[int, int, bool]:
    before = after = 1
    moves = False
    for dim, tile in reversed(cut.loops):
        if dim in plan.dims:
            moves = True
        elif moves:
            before *= cut.trips_of(dim, tile, dims)
        else:
            after *= cut.trips_of(dim, tile, dims)
    return before, after, moves


def classes(cut: Cut, dims: Mapping[str, int], group_dims: tuple[str, ...]) -> list[tuple[Extents, int]]:
    """Distinct tile extents of a cut with how often each occurs."""
    per_dim = [list(_dim_classes(dim, cut.tiles[dim], dims[dim])) for dim in group_dims]
    found: list[tuple[Extents, int]] = []
    for combo in product(*per_dim):
        found.append((tuple((dim, size) for dim, size, _ in combo), prod(count for _, _, count in combo)))
    return found


def _dim_classes(dim: str, tile: int, extent: int) -> Iterator[tuple[str, int, int]]:
    full, rest = divmod(extent, tile)
    if full:
        yield dim, tile, full
    if rest:
        yield dim, rest, 1


def last_extents(cut: Cut, dims: Mapping[str, int], group_dims: tuple[str, ...]) -> Extents:
    """Extents of the last tile."""
    return tuple((dim, dims[dim] - (-(-dims[dim] // cut.tiles[dim]) - 1) * cut.tiles[dim]) for dim in group_dims)


def first_extents(cut: Cut, group_dims: tuple[str, ...]) -> Extents:
    """Extents of the first tile."""
    return tuple((dim, cut.tiles[dim]) for dim in group_dims)
