"""Softmax and log-softmax along one axis (or along the last axes flattened, the old ONNX form: ``flatten`` = 1).

Cost per element, in the numerically stable form: running maximum 1 pass, subtract and exp 1 pass + exp, sum 1 pass,
per-row reciprocal (or logarithm) charged as 1 pass of the row, scaling 1 pass: 5 passes + exp. Rows are not tiled.

``masked_rows``: what elements are in rows that are minus infinity as a whole, where that is stated; else no numbers.
A second input of Softmax is a sink: one more element of each row, which takes its share and is not put out (Xiao et
al., "Efficient Streaming Language Models with Attention Sinks", 2024; here learned, as in gpt-oss). ONNX has none. Its
exponent, one for each row, is not charged apart.
"""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.ir.graph import Array, GraphNode, GraphValue, Inputs, Shape
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import FunctionCall, Meaning
from archsim.ops.kit.rounding import FUNCTION, Sums, growth
from archsim.ops.kit.steps import step
from archsim.ops.kit.visible import hidden

PASSES = 5
MASKED_ROWS = "masked_rows"


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input."""
    if inputs[0] is None or not inputs[0].shape:
        node.fail("needs an input of rank 1 or more")
    axes = _axes(node, inputs[0].shape)
    if (sink := _sink(node, inputs)) is not None and not _fits(sink.shape, inputs[0].shape, axes):
        node.fail(f"sink {list(sink.shape)} does not fit rows of {list(inputs[0].shape)}; allowed one for each")
    return (inputs[0].shape,)


def _sink(node: GraphNode, inputs: Inputs) -> GraphValue | None:
    found = inputs[1] if len(inputs) > 1 else None
    if found is not None and node.op != "Softmax":
        node.fail("has a sink; allowed in Softmax")
    return found


def _fits(sink: Shape, shape: Shape, axes: tuple[int, ...]) -> bool:
    """Whether there is one sink for each row, or for several rows the same."""
    allowed = [(1,) if axis in axes else (1, extent) for axis, extent in enumerate(shape)]
    return len(sink) == len(shape) and all(extent in each for extent, each in zip(sink, allowed, strict=True))


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer; the dims of a row are whole."""
    source, out = node.inputs[0], node.outputs[0]
    dims = build.dims(out)
    index = tuple(at(dim) for dim in dims)
    row = tuple(dims[axis] for axis in _axes(node, build.shape(out)))
    name = "log_softmax" if node.op == "LogSoftmax" else "softmax"
    found = step(name, PASSES, ("exp",), over=row)
    if MASKED_ROWS in node.attributes:
        found = step(name, PASSES, ("exp",), over=row, masked_rows=node.number(MASKED_ROWS, 0.0))
    reads = [LogicalAccess("in0", source, index)]
    if len(node.inputs) > 1:
        extents = build.shape(node.inputs[1])
        sink = tuple(at(dim) if extent > 1 else HERE for dim, extent in zip(dims, extents, strict=True))
        reads.append(LogicalAccess("in1", node.inputs[1], sink))
    build.layer(
        node,
        "vector",
        build.extents(out),
        tuple(reads),
        LogicalAccess("out", out, index),
        parts=LayerParts(whole=row),
        steps=(found,),
    )


def reference(node: GraphNode, data: Array, sink: Array | None = None) -> tuple[Array, ...]:
    """exp(x - max) / sum, or x - max - log(sum)."""
    masked = node.number(MASKED_ROWS, 0.0) if MASKED_ROWS in node.attributes else None
    data = hidden(node, data, -np.inf)
    return (_softmax(data, _axes(node, data.shape), node.op == "LogSoftmax", masked, sink).astype(data.dtype),)


def rounding(node: GraphNode, data: Array, sink: Array | None = None) -> Sums:
    """Exponents are rounded by their magnitude, which an exponential makes a share of each term of the sum.

    With d the distance to the row's maximum and p the softmax, p is off by d + (sum of p * d) + the roundings of a sum
    of n, times p; log p by as much, and by its own magnitude.
    """
    axes = _axes(node, data.shape)
    data = hidden(node, data, -np.inf)
    shares = _softmax(data, axes, False, 0.0 if MASKED_ROWS in node.attributes else None, sink)
    top, of_sink = np.max(data, axis=axes, keepdims=True), np.zeros(())
    if sink is not None:
        top = np.maximum(top, sink)
        of_sink = (1 - np.sum(shares, axis=axes, keepdims=True)) * (top - sink)
    with np.errstate(invalid="ignore"):
        distance = np.where(shares > 0, top - data, 0.0)
    terms = growth(prod(data.shape[axis] for axis in axes)) + FUNCTION
    spread = terms + distance + np.sum(shares * distance, axis=axes, keepdims=True) + of_sink
    if node.op == "LogSoftmax":
        return Sums(spread + np.abs(_softmax(data, axes, True, None)), 1.0)
    return Sums(shares * spread, 1.0)


def _softmax(data: Array, axes: tuple[int, ...], log: bool, masked: float | None, sink: Array | None = None) -> Array:
    """``masked``: what rows are that are minus infinity as a whole; None: no numbers."""
    top = np.max(data, axis=axes, keepdims=True)
    if sink is not None:
        top = np.maximum(top, sink)
        top = np.where(np.isneginf(top), 0.0, top)
        found = np.exp(data - top)
        total = np.sum(found, axis=axes, keepdims=True) + np.exp(sink - top)
        return np.asarray(found / np.where(total, total, 1.0))
    if masked is not None and (empty := np.isneginf(top)).any():
        rest = _softmax(np.where(empty, 0.0, data), axes, log, None)
        return np.asarray(np.where(empty, masked, rest), rest.dtype)
    shifted = data - top
    total = np.sum(np.exp(shifted), axis=axes, keepdims=True)
    return np.asarray(shifted - np.log(total) if log else np.exp(shifted) / total)


def _over(log: bool) -> Meaning:
    def rows(call: FunctionCall) -> Array:
        masked = call.number(MASKED_ROWS, 0.0) if MASKED_ROWS in call.parameters else None
        sink = call.values[1] if len(call.values) > 1 else None
        return _softmax(call.inside_or(-np.inf), call.axes("over"), log, masked, sink)

    return rows


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
