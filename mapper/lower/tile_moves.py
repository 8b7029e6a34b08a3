"""The moves of an operand's tiles in a mapped layer, by classes of equal ones: what each brings, and how often.

What is counted and what a stated mapping is priced by are sums over these; the grid of the search has the same sums as
products over groups of loops (``mapper.cost.grid``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from mapper.lower.frame import Frame
from mapper.problem.bounded import Trims, coupled, trimmed
from mapper.problem.geometry import Component, Counts, ranges, tiles_of
from mapper.problem.operands import OperandPlan


class TileMoves(NamedTuple):
    """Equal moves of an operand's tiles: positions per component that a tile ``filled``, those that are ``moved`` over
    the edge (padding is not, out of a tensor), and how many ``times``."""

    filled: tuple[int, ...]
    moved: tuple[int, ...]
    times: int


def moves(frame: Frame, plan: OperandPlan) -> Iterator[TileMoves]:
    """All moves of an operand that has a ring."""
    depth, sliding = frame.keeps[plan.name]
    tied = frozenset(dim for trim in frame.trims_of(plan) for dim in trim.others)
    again = repeats(frame, plan, depth, tied)
    for filled, touched, count in tiles(frame, plan, depth, frame.loops[depth - 1].dim if sliding else None):
        yield TileMoves(filled, filled if plan.beyond else touched, count * again)


class Totals(NamedTuple):
    """Of all different tiles of an operand: positions ``filled``, those ``touched`` inside the tensor, those that the
    first one touches, and how many ``tiles``."""

    filled: int
    touched: int
    first: int
    tiles: int


def totals(frame: Frame, plan: OperandPlan, depth: int, sliding: bool) -> Totals:
    """Those of an operand kept below ``depth`` loops, over the last of which its window may slide: products over its
    components."""
    found = Totals(1, 1, 1, 1)
    for part in frame.parts[plan.name]:
        filled, touched = _ranges(frame, part, depth, frame.loops[depth - 1].dim if sliding else None)
        along = int(filled.sum()), int(touched.sum()), int(touched[0]), len(filled)
        found = Totals(*(whole * each for whole, each in zip(found, along, strict=True)))
    return found


def repeats(frame: Frame, plan: OperandPlan, depth: int, tied: frozenset[str] = frozenset()) -> int:
    """Trips of the loops in time above ``depth`` that do not move the operand, nor are over dims that are ``tied`` to
    its own, of which ``tiles`` counts each tile."""
    timed = range(frame.spread, depth)
    return prod(frame.trips(at) for at in timed if frame.loops[at].dim not in plan.dims | tied)


def tiles(
    frame: Frame, plan: OperandPlan, depth: int, slid: str | None
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """(positions per component, those inside the tensor, how often) over the operand's tiles; those that bounds leave
    nothing of are no tiles."""
    parts, trims = frame.parts[plan.name], frame.trims_of(plan)
    groups = coupled(trims, tuple(frame.dims))
    tied = {dim for group in groups for dim in group}
    places = [place for place, part in enumerate(parts) if not tied.intersection(dict(part.terms))]
    choices: list[list[tuple[dict[int, tuple[int, int]], int]]] = [
        [({place: sizes}, times) for sizes, times in _along(frame, parts[place], depth, slid)] for place in places
    ]
    for group in groups:
        own = {part.terms[0][0]: place for place, part in enumerate(parts) if tied_to(part, group)}
        joint = joint_tiles(frame, trims, group, depth).extents
        count = len(next(iter(joint.values())))
        rows = Counter(zip(*(joint[dim].tolist() for dim in own), strict=True)) if own else Counter({(): count})
        choices.append(
            [
                ({own[dim]: (size, size) for dim, size in zip(own, row, strict=True)}, times)
                for row, times in rows.items()
                if all(row)
            ]
        )
    for combo in product(*choices):
        found = {place: sizes for chosen, _ in combo for place, sizes in chosen.items()}
        filled, touched = zip(*(found[place] for place in range(len(parts))), strict=True) if parts else ((), ())
        yield filled, touched, prod(times for _, times in combo)


def tied_to(part: Component, group: tuple[str, ...]) -> bool:
    """Whether a component is that of one dim of a group."""
    return any(dim in group for dim, _ in part.terms)


class JointTiles(NamedTuple):
    """Tiles of a group of dims that bounds tie to one another: ``extents`` and ``starts`` of each dim by name, over the
    tiles of all dims of the group, (n,)."""

    extents: dict[str, Counts]
    starts: dict[str, Counts]


def joint_tiles(frame: Frame, trims: Trims, group: tuple[str, ...], depth: int) -> JointTiles:
    """Those below ``depth`` loops."""
    cut, starts, sizes = frame.cut(depth), dict[str, Counts](), dict[str, Counts]()
    for axis, dim in enumerate(group):
        begin, along = tiles_of(frame.dims[dim], cut.get(dim, frame.dims[dim]), frame.reach(dim))
        shape = [-1 if other == axis else 1 for other in range(len(group))]
        starts[dim], sizes[dim] = begin.reshape(shape), along.reshape(shape)
    left = np.broadcast_arrays(*(trimmed(trims, starts, sizes, dim) for dim in group))
    begins = np.broadcast_arrays(*(starts[dim] for dim in group))
    return JointTiles(
        {dim: each.reshape(-1) for dim, each in zip(group, left, strict=True)},
        {dim: each.reshape(-1) for dim, each in zip(group, begins, strict=True)},
    )


def first_tile(frame: Frame, plan: OperandPlan, depth: int, slid: str | None) -> int:
    """Elements inside the tensor of an operand's first tile."""
    trims, sizes = frame.trims_of(plan), dict[str, int]()
    for group in coupled(trims, tuple(frame.dims)):
        joint = joint_tiles(frame, trims, group, depth).extents
        sizes |= {dim: int(joint[dim][0]) for dim in group}
    parts = frame.parts[plan.name]
    own_dims = [part.terms[0][0] if part.terms else "" for part in parts]
    return prod(
        sizes[dim] if dim in sizes else int(_ranges(frame, part, depth, slid)[1][0])
        for part, dim in zip(parts, own_dims, strict=True)
    )


def _along(frame: Frame, part: Component, depth: int, slid: str | None) -> list[tuple[tuple[int, int], int]]:
    filled, touched = _ranges(frame, part, depth, slid)
    return list(Counter(zip(filled.tolist(), touched.tolist(), strict=True)).items())


def _ranges(frame: Frame, part: Component, depth: int, slid: str | None) -> tuple[Counts, Counts]:
    """Positions of each tile of a component along its dims that loops cut."""
    cut = frame.cut(depth)
    dim = part.tiled_dim(frame.problem.beside)
    if dim not in cut:
        dim = None
    slides = dim is not None and dim == slid
    strip = frame.strip(slid, depth) if slid is not None else 0
    reach = frame.reach(dim) if dim is not None else 0
    return ranges(part, dim, cut.get(dim or "", 0), frame.dims, slides, strip, reach, part.taps(cut, dim))
