"""How many elements of its tensor an operand touches in a whole layer, at least."""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.base.arrays import IntArray
from archsim.ir.streams import entries
from archsim.ir.workload import Axis, Bound, Layer
from mapper.problem.operands import OperandPlan


def touched(plan: OperandPlan, layer: Layer, table_rows: int, axis: int = -1, below: int = 0) -> int:
    """Elements inside the tensor, each once; ``table_rows``: of a table that is looked up; of the axis number ``axis``
    only positions ``below`` count.

    Of axes that one dim moves together, or whose dims one bound ties together, only the longest counts, so that this is
    never too many.
    """
    seen: set[str] = set()
    sizes = []
    found = [(number, _positions(each, layer), each) for number, each in enumerate(plan.axes)]
    for number, positions, each in sorted(found, key=lambda item: -len(item[1])):
        length = below if number == axis else plan.shape[number]
        inside = positions[(positions >= 0) & (positions < length)]
        dims = {dim for dim, _ in each.terms}
        if plan.rows is not None and number == plan.rows.axis:
            inside = np.unique(entries(plan.rows.indices, table_rows, inside))
        sizes.append(len(inside) if not dims & seen else min(1, len(inside)))
        seen |= dims.union(*(bound.dims for bound in layer.bounds if dims.intersection(bound.dims)))
    return prod(sizes)


def _positions(axis: Axis, layer: Layer) -> IntArray:
    """Along an axis, from all points of its dims that take part."""
    found = np.array([axis.offset], dtype=np.int64)
    for dim, step in axis.terms:
        found = np.unique(np.add.outer(found, step * _taking_part(dim, layer)))
    return found


def _taking_part(dim: str, layer: Layer) -> IntArray:
    """Of a dim, the numbers that some point inside every single bound has."""
    numbers = np.arange(layer.dims[dim], dtype=np.int64)
    for bound in layer.bounds:
        if dim in bound.dims:
            numbers = numbers[_most(bound, dim, layer) + dict(bound.axis.terms)[dim] * numbers >= 0]
    return numbers


def _most(bound: Bound, beside: str, layer: Layer) -> int:
    """The largest value of a bound's axis over all its dims but one."""
    others = ((step, layer.dims[dim] - 1) for dim, step in bound.axis.terms if dim != beside)
    return bound.axis.offset + sum(max(0, step * last) for step, last in others)
