"""Sums, means, maxima, minima and norms along axes.

``archsim.ops.kit.reduction`` says what each costs. The dims summed over are not tiled.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import COMMON, FunctionCall
from archsim.ops.kit.reduction import FUNCTIONS, axes_of, reduced, reduced_shape, reducing_step, reduction_rounding
from archsim.ops.kit.rounding import Sums


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input with the axes of the second input 1 or gone (``keepdims``)."""
    if inputs[0] is None:
        node.fail("needs an input")
    return (reduced_shape(inputs[0].shape, reduced_axes(node, inputs), _keeps(node)),)


def reduced_axes(node: GraphNode, inputs: Inputs) -> Shape:
    """The axes of its first input that a node of this family reduces; raises ModelError where they are not known."""
    assert inputs[0] is not None
    given = integers_of(node, inputs[1], "axes") if len(inputs) > 1 else None
    return axes_of(node, len(inputs[0].shape), given)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer over the elements of the input."""
    source, out = node.inputs[0], node.outputs[0]
    dims = build.dims(source)
    axes = reduced_axes(node, tuple(build.value(name) if name else None for name in node.inputs))
    keep = _keeps(node)
    written = [HERE if axis in axes else at(dim) for axis, dim in enumerate(dims) if keep or axis not in axes]
    build.layer(
        node,
        "vector",
        build.extents(source),
        (LogicalAccess("in0", source, tuple(at(dim) for dim in dims)),),
        LogicalAccess("out", out, tuple(written)),
        parts=LayerParts(whole=tuple(dims[axis] for axis in axes)),
        steps=(reducing_step(node.op),),
    )


def reference(node: GraphNode, data: Array, axes: Array | None = None) -> tuple[Array, ...]:
    """NumPy's reductions."""
    return (reduced(node.op, data, _axes_in(node, data, axes), _keeps(node)),)


def rounding(node: GraphNode, data: Array, axes: Array | None = None) -> Sums:
    """That of the terms of each element."""
    return reduction_rounding(node.op, data, _axes_in(node, data, axes), _keeps(node))


def _axes_in(node: GraphNode, data: Array, axes: Array | None) -> Shape:
    return axes_of(node, data.ndim, None if axes is None else tuple(int(axis) for axis in axes))


def _keeps(node: GraphNode) -> bool:
    return bool(node.integer("keepdims", 1))


def _norm(call: FunctionCall, power: int) -> Array:
    magnitude = np.abs(call.values[0]) ** power
    total = COMMON["add"](FunctionCall((magnitude,), call.dims, call.reduced, call.inside, {}))
    return np.asarray(np.sqrt(total) if power == 2 else total)


FAMILY = OperatorFamily(
    tuple(FUNCTIONS),
    shapes,
    reference,
    lower,
    order="same",
    rounding=rounding,
    functions={"norm_1": lambda call: _norm(call, 1), "norm_2": lambda call: _norm(call, 2)},
)
