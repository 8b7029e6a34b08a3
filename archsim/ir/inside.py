"""How many points of a box lie inside half spaces over its dims, counted exactly, and which work of a command they are.

A half space is what a sum over dims leaves: the points where sum(coefficient * index) + offset is 0 or more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

import numpy as np

from archsim.base.arrays import IntArray
from archsim.ir.program import Command, CommandGuard
from archsim.ir.unroll import Step

Terms = tuple[tuple[str, int], ...]
HalfSpace = tuple[Terms, int]  # (dim, coefficient), offset
MAC = "mac"  # the function of which every element is a multiply-accumulate
KNOWN = 4096  # boxes of which the number of points is remembered


def points_inside(extents: Mapping[str, int], spaces: Sequence[HalfSpace]) -> int:
    """The points of the box [0, extent) of each dim that lie in all half spaces; their terms name dims of it."""
    bounded = tuple([(dim, size) for dim, size in extents.items() if any(dim in dict(terms) for terms, _ in spaces)])
    free = prod(size for dim, size in extents.items() if (dim, size) not in bounded)
    return free * _counted(bounded, tuple(spaces))


@lru_cache(maxsize=KNOWN)
def _counted(extents: tuple[tuple[str, int], ...], spaces: tuple[HalfSpace, ...]) -> int:
    """Over all dims but the longest one by one, of that one as an interval."""
    sizes = dict(extents)
    if 0 in sizes.values():
        return 0
    along = max(sizes, key=lambda dim: sizes[dim], default="")
    others = [dim for dim in sizes if dim != along]
    grid = np.ix_(*(np.arange(sizes[dim], dtype=np.int64) for dim in others))
    shape = tuple(sizes[dim] for dim in others)
    low = np.zeros(shape, dtype=np.int64)
    high = np.full(shape, sizes.get(along, 1) - 1, dtype=np.int64)
    for terms, offset in spaces:
        steps = dict(terms)
        rest: IntArray = np.full(shape, offset, dtype=np.int64)
        for dim, places in zip(others, grid, strict=True):
            rest = rest + steps.get(dim, 0) * places
        step = steps.get(along, 0)
        if step > 0:
            low = np.maximum(low, -(rest // step))
        elif step < 0:
            high = np.minimum(high, rest // -step)
        else:
            high = np.where(rest < 0, -1, high)
    return int(np.maximum(high - low + 1, 0).sum())


def half_spaces(guard: CommandGuard, start: int) -> tuple[HalfSpace, HalfSpace]:
    """The two of a guard whose sum begins at ``start``."""
    turned = tuple([(dim, -coefficient) for dim, coefficient in guard.terms])
    return (guard.terms, start), (turned, guard.length - 1 - start)


def counting_guards(command: Command) -> tuple[CommandGuard, ...]:
    """The guards on which it depends how many multiply-accumulates a command does."""
    return command.guards if command.op == "MATMUL" or command.function == MAC else ()


def guarded_operand(command: Command, guard: CommandGuard) -> str | None:
    """The operand of a MATMUL, or of what multiplies and adds, that all extents of a guard move: products outside it
    are 0 where that one's elements are. None where there is none."""
    dims = {dim for dim, _ in guard.terms}
    for region in (*command.reads, *command.writes):
        if dims <= {dim for dim, stride in region.strides if stride}:
            return region.operand
    return None


def counted(step: Step) -> int:
    """The points of a command's extents that its guards let take part."""
    guards = step.command.guards
    if not guards:
        return prod(step.extents.values())
    spaces = [space for guard in guards for space in half_spaces(guard, guard.start.at(step.env))]
    return points_inside(step.extents, spaces)
