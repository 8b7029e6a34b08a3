"""Local response normalisation across channels: out = x / (bias + alpha/size * sum of x*x over ``size`` channels)^beta.

Cost per element: ``size`` passes for the window of squares (multiply-adds), 1 for the affine argument, the power, 1
for the product. The power with beta 3/4 is two square roots and a division, with 1/2 one root and a division, with 1 a
division; otherwise exp(-beta * log). Channels are not tiled.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import FunctionCall
from archsim.ops.kit.rounding import FUNCTION, Sums, growth
from archsim.ops.kit.steps import LOG_PASSES, step

_POWERS = {0.75: (1, ("sqrt", "sqrt", "divide")), 0.5: (1, ("sqrt", "divide")), 1.0: (1, ("divide",))}
_GENERAL_POWER = (LOG_PASSES + 1, ("exp",))


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input (N, C, ...)."""
    if inputs[0] is None or len(inputs[0].shape) < 2 or node.integer("size", 0) < 1:
        node.fail("needs an input of rank 2 or more and a size of at least 1")
    return (inputs[0].shape,)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer; the channel dim is whole."""
    source, out = node.inputs[0], node.outputs[0]
    dims = build.dims(out)
    index = tuple(at(dim) for dim in dims)
    size, alpha, beta, bias = _parameters(node)
    power, slow = _POWERS.get(round(beta, 6), _GENERAL_POWER)
    passes = size + 1 + power + 1  # window of squares, affine argument, power, product
    steps = (step("lrn", passes, slow, over=(dims[1],), size=size, alpha=alpha, beta=beta, bias=bias),)
    reads = (LogicalAccess("in0", source, index),)
    write = LogicalAccess("out", out, index)
    build.layer(node, "vector", build.extents(out), reads, write, parts=LayerParts(whole=(dims[1],)), steps=steps)


def reference(node: GraphNode, data: Array) -> tuple[Array, ...]:
    """By definition; the window reaches (size-1)/2 channels down and the rest up."""
    rows = np.moveaxis(data, 1, -1).astype(np.float64)
    return (np.moveaxis(_normalised(rows, *_parameters(node)), -1, 1).astype(data.dtype),)


def rounding(node: GraphNode, data: Array) -> Sums:
    """A share of the result: the sum of squares has one sign."""
    size, _, beta, _ = _parameters(node)
    return Sums(np.abs(reference(node, data)[0]), abs(beta) * growth(size) + 2 * FUNCTION)


def _parameters(node: GraphNode) -> tuple[int, float, float, float]:
    """Size, alpha, beta, bias."""
    return node.integer("size", 1), node.number("alpha", 1e-4), node.number("beta", 0.75), node.number("bias", 1.0)


def _normalised(rows: Array, size: int, alpha: float, beta: float, bias: float) -> Array:
    """Normalised along the last axis."""
    channels, below = rows.shape[-1], (size - 1) // 2
    squares = np.zeros(rows.shape)
    for c in range(channels):
        low, high = max(0, c - below), min(channels, c - below + size)
        squares[..., c] = np.sum(np.square(rows[..., low:high]), axis=-1)
    return np.asarray(rows / (bias + alpha / size * squares) ** beta)


def _lrn(call: FunctionCall) -> Array:
    size = int(call.number("size", 1))
    numbers = (call.number("alpha", 1e-4), call.number("beta", 0.75), call.number("bias", 1.0))
    return call.along("over", lambda rows: _normalised(rows, size, *numbers))


FAMILY = OperatorFamily(
    ("LRN",), shapes, reference, lower, order="channels_last", functions={"lrn": _lrn}, rounding=rounding
)
