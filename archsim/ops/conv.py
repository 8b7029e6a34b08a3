"""Convolution of any number of spatial axes, with stride, dilation, pads, groups and bias.

    out[n, g*K+k, p, q] = bias[g*K+k] + sum over c, r, s of in[n, g*C+c, p*stride + r*dilation - pad, ...] * w[g*K+k,
    c, r, s]

As a matmul: rows n, p, q; columns k; reduction r, s, c; batch g (only when there are groups: depthwise too).
Multiply-accumulates count pads: N * P * Q * K * C * R * S / groups.
"""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.ir.graph import Array, Graph, GraphNode, Inputs, Shape
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import KERNEL, SPATIAL, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.product import bias_of, emit_matmul
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth
from archsim.ops.kit.window import window_of


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Input (N, C, ...) and weights (K, C/groups, ...) to (N, K, ...)."""
    data, weights = inputs[0], inputs[1]
    if data is None or weights is None:
        node.fail("needs an input and weights")
    groups = node.integer("group", 1)
    if len(data.shape) != len(weights.shape) or not 3 <= len(data.shape) <= 5:
        node.unsupported(
            f"input of shape {list(data.shape)} and weights {list(weights.shape)}; allowed 1 to 3 spatial axes"
        )
    if groups < 1 or data.shape[1] != weights.shape[1] * groups or weights.shape[0] % groups:
        node.fail(f"input has {data.shape[1]} channels, weights {list(weights.shape)} in {groups} groups do not fit")
    window = window_of(node, data.shape, weights.shape[2:])
    return ((data.shape[0], weights.shape[0], *window.out),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One matmul layer."""
    data, weights, out = node.inputs[0], node.inputs[1], node.outputs[0]
    kernel = build.shape(weights)
    groups = node.integer("group", 1)
    window = window_of(node, build.shape(data), kernel[2:])
    spatial, taps = SPATIAL[-len(window.out) :], KERNEL[-len(window.out) :]
    extents = {"n": build.shape(data)[0], **({"g": groups} if groups > 1 else {})}
    extents |= dict(zip(spatial, window.out, strict=True))
    extents |= {"k": kernel[0] // groups, "c": kernel[1], **dict(zip(taps, kernel[2:], strict=True))}
    channel = at("c") if groups == 1 else at(("g", kernel[1]), "c")
    column = at("k") if groups == 1 else at(("g", kernel[0] // groups), "k")
    emit_matmul(
        node,
        build,
        extents,
        LogicalAccess("a", data, (at("n"), channel, *window.axes(spatial, taps))),
        LogicalAccess("b", weights, (column, at("c"), *(at(tap) for tap in taps))),
        bias_of(node, build, 2, kernel[0], column),
        LogicalAccess("out", out, (at("n"), column, *(at(dim) for dim in spatial))),
    )


def reference(node: GraphNode, data: Array, weights: Array, bias: Array | None = None) -> tuple[Array, ...]:
    """Sum over window positions of a strided slice times the tap's weights."""
    groups = node.integer("group", 1)
    window = window_of(node, data.shape, weights.shape[2:])
    padded = window.padded(data, 0)
    out = np.zeros((data.shape[0], groups, weights.shape[0] // groups, *window.out), np.result_type(data, weights))
    taps = weights.reshape(groups, -1, *weights.shape[1:])
    for position in np.ndindex(*window.kernel):
        part = padded[(slice(None), slice(None), *window.slices(position))]
        grouped = part.reshape(part.shape[0], groups, part.shape[1] // groups, -1)
        out += np.matmul(taps[(..., *position)], grouped).reshape(out.shape)
    result = out.reshape(data.shape[0], weights.shape[0], *window.out)
    if bias is not None:
        result = result + bias.reshape(1, -1, *([1] * len(window.out)))
    return (result.astype(data.dtype),)


def rounding(node: GraphNode, data: Array, weights: Array, bias: Array | None = None) -> Sums:
    """The same sum of magnitudes: a product for each input channel and tap of a group, and the bias."""
    (magnitude,) = reference(node, np.abs(data), np.abs(weights), None if bias is None else np.abs(bias))
    return Sums(magnitude, growth(prod(weights.shape[1:])) + EPILOGUE, is_linear=True)


def channel(node: GraphNode, graph: Graph) -> int:
    """Constant scales and shifts per output channel fold into weights and bias."""
    return 1


FAMILY = OperatorFamily(
    ("Conv",),
    shapes,
    reference,
    lower,
    order="channels_last",
    channel=channel,
    activates=True,
    combines=True,
    arity=2,
    rounding=rounding,
)
