"""Softmax and log-softmax along one axis (or along the last axes flattened, the old ONNX form: ``flatten`` = 1).

Cost per element, in the numerically stable form: running maximum 1 pass, subtract and exp 1 pass + exp, sum 1 pass,
per-row reciprocal (or logarithm) charged as 1 pass of the row, scaling 1 pass: 5 passes + exp. Rows are not tiled.
"""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import Meaning
from archsim.ops.kit.rounding import FUNCTION, Sums, growth
from archsim.ops.kit.steps import step

PASSES = 5


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input."""
    if inputs[0] is None or not inputs[0].shape:
        node.fail("needs an input of rank 1 or more")
    _axes(node, inputs[0].shape)
    return (inputs[0].shape,)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer; the dims of a row are whole."""
    source, out = node.inputs[0], node.outputs[0]
    dims = build.dims(out)
    index = tuple(at(dim) for dim in dims)
    row = tuple(dims[axis] for axis in _axes(node, build.shape(out)))
    build.layer(
        node,
        "vector",
        build.extents(out),
        (LogicalAccess("in0", source, index),),
        LogicalAccess("out", out, index),
        parts=LayerParts(whole=row),
        steps=(step("log_softmax" if node.op == "LogSoftmax" else "softmax", PASSES, ("exp",), over=row),),
    )


def reference(node: GraphNode, data: Array) -> tuple[Array, ...]:
    """exp(x - max) / sum, or x - max - log(sum)."""
    return (_softmax(data, _axes(node, data.shape), node.op == "LogSoftmax").astype(data.dtype),)


def rounding(node: GraphNode, data: Array) -> Sums:
    """Exponents are rounded by their magnitude, which an exponential makes a share of each term of the sum.

    With d the distance to the row's maximum and p the softmax, p is off by d + (sum of p * d) + the roundings of a sum
    of n, times p; log p by as much, and by its own magnitude.
    """
    axes = _axes(node, data.shape)
    shares = _softmax(data, axes, log=False)
    distance = np.where(shares > 0, np.max(data, axis=axes, keepdims=True) - data, 0.0)
    terms = growth(prod(data.shape[axis] for axis in axes)) + FUNCTION
    spread = terms + distance + np.sum(shares * distance, axis=axes, keepdims=True)
    if node.op == "LogSoftmax":
        return Sums(spread + np.abs(_softmax(data, axes, log=True)), 1.0)
    return Sums(shares * spread, 1.0)


def _softmax(data: Array, axes: tuple[int, ...], log: bool) -> Array:
    shifted = data - np.max(data, axis=axes, keepdims=True)
    total = np.sum(np.exp(shifted), axis=axes, keepdims=True)
    return np.asarray(shifted - np.log(total) if log else np.exp(shifted) / total)


def _over(log: bool) -> Meaning:
    return lambda call: _softmax(call.values[0], call.axes("over"), log)


def _axes(node: GraphNode, shape: Shape) -> tuple[int, ...]:
    """The axes of a row."""
    rank = len(shape)
    axis = node.integer("axis", -1)
    if not -rank <= axis < rank:
        node.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
    first = axis % rank
    return tuple(range(first, rank)) if node.integer("flatten", 0) else (first,)


FAMILY = OperatorFamily(
    ("Softmax", "LogSoftmax"),
    shapes,
    reference,
    lower,
    order="same",
    rounding=rounding,
    functions={"softmax": _over(False), "log_softmax": _over(True)},
)
