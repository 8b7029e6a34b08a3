"""Sums, means, maxima, minima and norms along axes.

Cost: one lane pass per input element (the mean's scale rides on the last one); of a norm 2, since the magnitude comes
first, or the root of each row after, which is charged as a pass of the row. The dims summed over are not tiled.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import COMMON, FunctionCall
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth
from archsim.ops.kit.steps import step

_FUNCTIONS = {
    "ReduceSum": "add",
    "ReduceMean": "average",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceSumSquare": "square_add",
    "ReduceProd": "multiply",
    "ReduceL1": "norm_1",
    "ReduceL2": "norm_2",
}
_NORMS = ("ReduceL1", "ReduceL2")


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input with the axes of the second input 1 or gone (``keepdims``)."""
    if inputs[0] is None:
        node.fail("needs an input")
    shape = inputs[0].shape
    axes = _axes(node, len(shape), integers_of(node, inputs[1], "axes") if len(inputs) > 1 else None)
    if node.integer("keepdims", 1):
        return (tuple(1 if axis in axes else size for axis, size in enumerate(shape)),)
    return (tuple(size for axis, size in enumerate(shape) if axis not in axes),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer over the elements of the input."""
    source, out = node.inputs[0], node.outputs[0]
    dims = build.dims(source)
    given = integers_of(node, build.value(node.inputs[1]), "axes") if len(node.inputs) > 1 and node.inputs[1] else None
    axes = _axes(node, len(dims), given)
    keep = node.integer("keepdims", 1)
    written = [HERE if axis in axes else at(dim) for axis, dim in enumerate(dims) if keep or axis not in axes]
    build.layer(
        node,
        "vector",
        build.extents(source),
        (LogicalAccess("in0", source, tuple(at(dim) for dim in dims)),),
        LogicalAccess("out", out, tuple(written)),
        parts=LayerParts(whole=tuple(dims[axis] for axis in axes)),
        steps=(step(_FUNCTIONS[node.op], 2 if node.op in _NORMS else 1),),
    )


def reference(node: GraphNode, data: Array, axes: Array | None = None) -> tuple[Array, ...]:
    """NumPy's reductions."""
    found = _axes(node, data.ndim, None if axes is None else tuple(int(axis) for axis in axes))
    keep = bool(node.integer("keepdims", 1))
    if node.op in ("ReduceSumSquare", "ReduceL2"):
        data = data * data
    if node.op == "ReduceL1":
        data = np.abs(data)
    name = {"average": "mean", "max": "max", "min": "min", "multiply": "prod"}.get(_FUNCTIONS[node.op], "sum")
    result = getattr(np, name)(data, axis=found, keepdims=keep)
    return (np.asarray(np.sqrt(result) if node.op == "ReduceL2" else result, data.dtype),)


def rounding(node: GraphNode, data: Array, axes: Array | None = None) -> Sums:
    """The same of magnitudes, with as many roundings as terms; a maximum or minimum has none."""
    (magnitude,) = reference(node, np.abs(data), axes)
    terms = data.size // max(1, magnitude.size)
    if node.op in ("ReduceMax", "ReduceMin"):
        return Sums(np.zeros(()), 0.0)
    return Sums(magnitude, (terms if node.op == "ReduceProd" else growth(terms)) + EPILOGUE)


def _axes(node: GraphNode, rank: int, given: Shape | None) -> tuple[int, ...]:
    """The axes to reduce; none given means all, or with ``noop_with_empty_axes`` an unsupported no-op."""
    if not given:
        if node.integer("noop_with_empty_axes", 0):
            node.unsupported("reduces nothing")
        return tuple(range(rank))
    if any(not -rank <= axis < rank for axis in given):
        node.fail(f"axes {list(given)}; allowed {-rank} to {rank - 1}")
    return tuple(sorted({axis % rank for axis in given}))


def _norm(call: FunctionCall, power: int) -> Array:
    magnitude = np.abs(call.values[0]) ** power
    total = COMMON["add"](FunctionCall((magnitude,), call.dims, call.reduced, call.inside, {}))
    return np.asarray(np.sqrt(total) if power == 2 else total)


FAMILY = OperatorFamily(
    tuple(_FUNCTIONS),
    shapes,
    reference,
    lower,
    order="same",
    rounding=rounding,
    functions={"norm_1": lambda call: _norm(call, 1), "norm_2": lambda call: _norm(call, 2)},
)
