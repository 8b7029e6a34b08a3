"""Interpolate: elements between two neighbours along one axis, as linear enlargement and reduction need them.

    out[.., x, ..] = w[x, 0] * in[.., row(x), ..] + w[x, 1] * in[.., row(x) + 1, ..]

``rows``: the first neighbour of every position, from -1 on; one that lies outside has the weight 0. The weights are a
stored table of two columns (``archsim.graph.passes.resize`` makes both). Cost: 1 pass a neighbour, a multiply-add.
Where the rows are sums of evenly spaced steps, as with whole factors, the input is read in place with its dim cut into
those steps; else each row is looked up.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ir.indices import Indices
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import COMMON, FunctionCall
from archsim.ops.kit.rounding import EPILOGUE, Sums
from archsim.ops.kit.steps import step

NEIGHBOURS = 2
TAP = "tap"


class Stride(NamedTuple):
    """One of the steps that rows are the sum of: ``extent`` positions, each ``rows`` further than the one before."""

    extent: int
    rows: int


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input with as many elements along the axis as there are rows."""
    data, weights = inputs[:2]
    assert data is not None and weights is not None
    axis, rows = node.integer("axis", 0), node.integers("rows", ())
    if not 0 <= axis < len(data.shape) or weights.shape != (len(rows), NEIGHBOURS):
        node.fail(f"axis {axis} or weights {list(weights.shape)} do not fit {list(data.shape)} and {len(rows)} rows")
    return ((*data.shape[:axis], len(rows), *data.shape[axis + 1 :]),)


def strides_of(rows: Shape) -> tuple[Stride, ...] | None:
    """The steps, outermost first, that give these rows from the first on; None where there are none."""
    found: list[Stride] = []
    left = list(rows)
    while len(left) > 1:
        stride = _innermost(left)
        if stride.extent == 1:
            return None
        found.insert(0, stride)
        left = left[:: stride.extent]
    return tuple(found)


def _innermost(rows: list[int]) -> Stride:
    """The longest run of equal steps that all rows are made of."""
    step_rows = rows[1] - rows[0]
    for extent in range(len(rows), 1, -1):
        if len(rows) % extent == 0 and all(
            rows[place] - rows[place - 1] == step_rows for place in range(1, len(rows)) if place % extent
        ):
            return Stride(extent, step_rows)
    return Stride(1, 0)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer over the elements of the result and their neighbours."""
    source, weights = node.inputs
    out, axis, rows = node.outputs[0], node.integer("axis", 0), node.integers("rows", ())
    dims, strides = build.dims(out), strides_of(rows)
    cut = strides or (Stride(len(rows), 0),)
    parts = tuple(f"{dims[axis]}_{place}" for place in range(len(cut))) if len(cut) > 1 else (dims[axis],)
    inner = [prod(stride.extent for stride in cut[place + 1 :]) for place in range(len(cut))]
    index = [at(dim) for dim in dims]
    index[axis] = position = at(*zip(parts, inner, strict=True))
    read = index.copy()
    data = LogicalAccess("in0", source, ())
    if strides is None:
        last = build.shape(source)[axis] - 1
        trace = tuple(min(max(row + tap, 0), last) for row in rows for tap in range(NEIGHBOURS))
        data = replace(data, lookup=Indices("trace", trace=trace), axis=axis)
        read[axis] = at((dims[axis], NEIGHBOURS), TAP)
    else:
        moved = [(part, stride.rows) for part, stride in zip(parts, cut, strict=True) if stride.rows]
        read[axis] = at(*moved, TAP, offset=rows[0])
    extents: dict[str, int] = {}
    for dim, extent in build.extents(out).items():
        pieces = zip(parts, (stride.extent for stride in cut), strict=True)
        extents |= dict(pieces) if dim == dims[axis] else {dim: extent}
    build.layer(
        node,
        "vector",
        extents | {TAP: NEIGHBOURS},
        (replace(data, index=tuple(read)), LogicalAccess("in1", weights, (position, at(TAP)))),
        LogicalAccess("out", out, tuple(index)),
        parts=LayerParts(whole=(TAP,)),
        steps=(step("multiply_add", 1),),
    )


def reference(node: GraphNode, data: Array, weights: Array) -> tuple[Array, ...]:
    """By definition, in double precision."""
    axis, rows = node.integer("axis", 0), np.asarray(node.integers("rows", ()))
    shape = [len(rows) if place == axis else 1 for place in range(data.ndim)]
    result: Array = np.zeros(())
    for tap in range(NEIGHBOURS):
        taken = np.take(data.astype(np.float64), np.clip(rows + tap, 0, data.shape[axis] - 1), axis)
        result = result + taken * weights[:, tap].reshape(shape)
    return (np.asarray(result, data.dtype),)


def rounding(node: GraphNode, data: Array, weights: Array) -> Sums:
    """Two products that are added up, and weights that are off by what positions along the axis are rounded by."""
    magnitude = reference(node, np.abs(data), np.abs(weights))[0] * (EPILOGUE + NEIGHBOURS)
    positions = data.shape[node.integer("axis", 0)] * reference(node, np.abs(data), np.ones(weights.shape))[0]
    return Sums(magnitude + 2 * positions, 1.0)


def _multiply_add(call: FunctionCall) -> Array:
    product = call.values[0] * call.values[1]
    return COMMON["add"](FunctionCall((product,), call.dims, call.reduced, call.inside, {}))


FAMILY = OperatorFamily(
    ("Interpolate",),
    shapes,
    reference,
    lower,
    order="same",
    arity=2,
    functions={"multiply_add": _multiply_add},
    rounding=rounding,
)
