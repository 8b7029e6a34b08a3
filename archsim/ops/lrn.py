"""Local response normalisation across channels: out = x / (bias + alpha/size * sum of x*x over ``size`` channels)^beta.

Cost per element: ``size`` passes for the window of squares (multiply-adds), 1 for the affine argument, the power, 1
for the product. The power with beta 3/4 is two square roots and a division, with 1/2 one root and a division, with 1 a
division; otherwise exp(-beta * log). Channels are not tiled.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.workload import VectorStep
from archsim.ops.graph.family import Family
from archsim.ops.graph.nodes import Array, Inputs, Node, Shape
from archsim.ops.lowering.access import Access, at
from archsim.ops.lowering.builder import Builder, Parts
from archsim.ops.lowering.steps import LOG_PASSES

_POWERS = {
    0.75: VectorStep("power", 1, ("sqrt", "sqrt", "divide")),
    0.5: VectorStep("power", 1, ("sqrt", "divide")),
    1.0: VectorStep("power", 1, ("divide",)),
}
_GENERAL_POWER = VectorStep("power", LOG_PASSES + 1, ("exp",))


def shapes(node: Node, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input (N, C, ...)."""
    if inputs[0] is None or len(inputs[0].shape) < 2 or node.integer("size", 0) < 1:
        node.fail("needs an input of rank 2 or more and a size of at least 1")
    return (inputs[0].shape,)


def lower(node: Node, build: Builder) -> None:
    """One vector layer; the channel dim is whole."""
    source, out = node.inputs[0], node.outputs[0]
    dims = build.dims(out)
    index = tuple(at(dim) for dim in dims)
    power = _POWERS.get(round(node.number("beta", 0.75), 6), _GENERAL_POWER)
    steps = (
        VectorStep("window_square_sum", node.integer("size", 0)),
        VectorStep("multiply_add", 1),
        power,
        VectorStep("multiply", 1),
    )
    reads = (Access("in0", source, index),)
    write = Access("out", out, index)
    build.layer(node, "vector", build.extents(out), reads, write, parts=Parts(whole=(dims[1],)), steps=steps)


def reference(node: Node, data: Array) -> tuple[Array, ...]:
    """By definition; the window reaches (size-1)/2 channels down and the rest up."""
    size, channels = node.integer("size", 1), data.shape[1]
    below = (size - 1) // 2
    squares = np.zeros(data.shape, np.float64)
    for c in range(channels):
        low, high = max(0, c - below), min(channels, c - below + size)
        squares[:, c] = np.sum(np.square(data[:, low:high].astype(np.float64)), axis=1)
    base = node.number("bias", 1.0) + node.number("alpha", 1e-4) / size * squares
    return ((data / base ** node.number("beta", 0.75)).astype(data.dtype),)


FAMILY = Family(("LRN",), shapes, reference, lower, order="channels_last")
