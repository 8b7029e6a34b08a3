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

from mapper.lower.frame import Frame
from mapper.problem.geometry import Component, Counts, ranges
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
    again = repeats(frame, plan, depth)
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


def repeats(frame: Frame, plan: OperandPlan, depth: int) -> int:
    """Trips of the loops in time above ``depth`` that do not move the operand."""
    timed = range(frame.spread, depth)
    return prod(frame.trips(at) for at in timed if frame.loops[at].dim not in plan.dims)


def tiles(
    frame: Frame, plan: OperandPlan, depth: int, slid: str | None
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """(positions per component, those inside the tensor, how often) over the operand's tiles."""
    per_part = [_along(frame, part, depth, slid) for part in frame.parts[plan.name]]
    for combo in product(*per_part):
        filled, touched = zip(*(sizes for sizes, _ in combo), strict=True) if combo else ((), ())
        yield filled, touched, prod(times for _, times in combo)


def first_tile(frame: Frame, plan: OperandPlan, depth: int, slid: str | None) -> int:
    """Elements inside the tensor of an operand's first tile."""
    return prod(int(_ranges(frame, part, depth, slid)[1][0]) for part in frame.parts[plan.name])


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
