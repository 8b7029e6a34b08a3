"""Transposed convolution: every input element adds its window of weights to the output.

    out[n, g*K+k, p*stride + r - pad, ...] += in[n, g*C+c, p, ...] * w[g*C+c, k, r, ...]

As a matmul: rows n and input positions; columns k and window positions; reduction c; batch g (only when there are
groups). Multiply-accumulates: input elements x weights behind each, N * H * W * C * K * R * S / groups. Where windows
lie side by side (stride = kernel, no pads) the product is written where it belongs. Else
``archsim.graph.passes.conv_transpose`` makes windows side by side and adds up by Fold what falls on one output.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from archsim.ir.graph import Array, Graph, GraphNode, Inputs, Shape
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import KERNEL, SPATIAL, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.product import bias_of, emit_matmul
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth
from archsim.ops.kit.window import AUTO_PADS


class SpreadWindows(NamedTuple):
    """Per spatial axis: ``kernel``, ``strides``, what is cut off before (``begins``), and what stays (``out``)."""

    kernel: Shape
    strides: Shape
    begins: Shape
    out: Shape

    def is_side_by_side(self, sizes: Shape) -> bool:
        """Whether windows of an input of ``sizes`` neither overlap nor leave gaps, and all of them stays."""
        whole = tuple(size * stride for size, stride in zip(sizes, self.strides, strict=True))
        return self.kernel == self.strides and not any(self.begins) and self.out == whole


def spread_of(node: GraphNode, shape: Shape, taps: Shape) -> SpreadWindows:
    """Of an input of ``shape`` (N, C, ...) and weights of ``taps``; raises ModelError where they do not fit."""
    axes = len(shape) - 2
    kernel, strides = node.integers("kernel_shape", taps), node.integers("strides", (1,) * axes)
    beyond, pads = node.integers("output_padding", (0,) * axes), node.integers("pads", (0,) * (2 * axes))
    if kernel != taps or [len(strides), len(beyond), len(pads)] != [axes, axes, 2 * axes] or min((*strides, 1)) < 1:
        node.fail(
            f"kernel_shape {kernel}, strides {strides}, pads {pads} and output_padding {beyond} do not fit {taps}"
        )
    if any(size != 1 for size in node.integers("dilations", (1,) * axes)):
        node.unsupported(f"dilations {list(node.integers('dilations', ()))}; allowed 1")
    full = tuple(
        stride * (size - 1) + tap + more
        for stride, size, tap, more in zip(strides, shape[2:], taps, beyond, strict=True)
    )
    wanted = _wanted(node, shape[2:], strides)
    if not wanted:
        out = tuple(size - pads[axis] - pads[axis + axes] for axis, size in enumerate(full))
        return SpreadWindows(kernel, strides, _checked(node, pads[:axes], out), out)
    surplus = [max(0, size - out) for size, out in zip(full, wanted, strict=True)]
    small = node.text("auto_pad", "NOTSET") == "SAME_UPPER"
    begins = tuple(size // 2 if small else size - size // 2 for size in surplus)
    return SpreadWindows(kernel, strides, _checked(node, begins, wanted), wanted)


def _wanted(node: GraphNode, sizes: Shape, strides: Shape) -> Shape:
    """The output size that the node states, () where it follows from pads."""
    mode = node.text("auto_pad", "NOTSET")
    if mode not in AUTO_PADS:
        node.fail(f"auto_pad '{mode}'; allowed {', '.join(AUTO_PADS)}")
    stated = node.integers("output_shape", ())[-len(sizes) :]
    if stated or not mode.startswith("SAME"):
        return stated
    return tuple(size * stride for size, stride in zip(sizes, strides, strict=True))


def _checked(node: GraphNode, begins: Shape, out: Shape) -> Shape:
    if min((*begins, 0)) < 0 or min((*out, 1)) < 1:
        node.fail(f"cuts {list(begins)} off before and leaves {list(out)}; allowed 0 or more, and 1 or more")
    return begins


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Input (N, C, ...) and weights (C, K/groups, ...) to (N, K, ...)."""
    data, weights = inputs[:2]
    assert data is not None and weights is not None
    groups = node.integer("group", 1)
    if len(data.shape) != len(weights.shape) or not 3 <= len(data.shape) <= 5:
        node.unsupported(
            f"input of shape {list(data.shape)} and weights {list(weights.shape)}; allowed 1 to 3 spatial axes"
        )
    if groups < 1 or data.shape[1] != weights.shape[0] or weights.shape[0] % groups:
        node.fail(f"input has {data.shape[1]} channels, weights {list(weights.shape)} in {groups} groups do not fit")
    return ((data.shape[0], weights.shape[1] * groups, *spread_of(node, data.shape, weights.shape[2:]).out),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One matmul layer, of windows side by side."""
    data, weights, out = node.inputs[0], node.inputs[1], node.outputs[0]
    shape, kernel, groups = build.shape(data), build.shape(weights), node.integer("group", 1)
    spread_of(node, shape, kernel[2:])  # refuses what was not taken apart
    spatial, taps = SPATIAL[-(len(shape) - 2) :], KERNEL[-(len(shape) - 2) :]
    extents = {"n": shape[0], **({"g": groups} if groups > 1 else {}), **dict(zip(spatial, shape[2:], strict=True))}
    extents |= {"k": kernel[1], "c": kernel[0] // groups, **dict(zip(taps, kernel[2:], strict=True))}
    channel = at("c") if groups == 1 else at(("g", kernel[0] // groups), "c")
    column = at("k") if groups == 1 else at(("g", kernel[1]), "k")
    places = (at((dim, size), tap) for dim, size, tap in zip(spatial, kernel[2:], taps, strict=True))
    emit_matmul(
        node,
        build,
        extents,
        LogicalAccess("a", data, (at("n"), channel, *(at(dim) for dim in spatial))),
        LogicalAccess("b", weights, (channel, at("k"), *(at(tap) for tap in taps))),
        bias_of(node, build, 2, kernel[1] * groups, column),
        LogicalAccess("out", out, (at("n"), column, *places)),
    )


def reference(node: GraphNode, data: Array, weights: Array, bias: Array | None = None) -> tuple[Array, ...]:
    """Every window position adds the input times the tap's weights to every stride-th output."""
    groups, spread = node.integer("group", 1), spread_of(node, data.shape, weights.shape[2:])
    sizes = data.shape[2:]
    reach = [
        max((size - 1) * stride + tap, begin + out)
        for size, tap, stride, begin, out in zip(sizes, *spread, strict=True)
    ]
    full = np.zeros((data.shape[0], weights.shape[1] * groups, *reach), np.result_type(data, weights))
    grouped = data.reshape(data.shape[0], groups, -1, *sizes)
    factors = weights.reshape(groups, -1, *weights.shape[1:])
    for position in np.ndindex(*spread.kernel):
        product = np.einsum("ngc...,gck->ngk...", grouped, factors[(..., *position)])
        window = tuple(
            slice(tap, tap + (size - 1) * stride + 1, stride)
            for tap, size, stride in zip(position, sizes, spread.strides, strict=True)
        )
        full[(slice(None), slice(None), *window)] += product.reshape(data.shape[0], -1, *sizes)
    kept = tuple(slice(begin, begin + out) for begin, out in zip(spread.begins, spread.out, strict=True))
    result = full[(slice(None), slice(None), *kept)]
    if bias is not None:
        result = result + bias.reshape(1, -1, *([1] * len(sizes)))
    return (result.astype(data.dtype),)


def rounding(node: GraphNode, data: Array, weights: Array, bias: Array | None = None) -> Sums:
    """The same sum of magnitudes: at most a product for each channel of a group and tap, and the bias."""
    (magnitude,) = reference(node, np.abs(data), np.abs(weights), None if bias is None else np.abs(bias))
    terms = weights.shape[0] // node.integer("group", 1) * prod(weights.shape[2:])
    return Sums(magnitude, growth(terms) + EPILOGUE, is_linear=True)


def channel(node: GraphNode, graph: Graph) -> int | None:
    """Constant scales and shifts per output channel fold into weights and bias, where there are no groups."""
    return 1 if node.integer("group", 1) == 1 else None


FAMILY = OperatorFamily(
    ("ConvTranspose",),
    shapes,
    reference,
    lower,
    order="channels_last",
    channel=channel,
    activates=True,
    arity=2,
    rounding=rounding,
)
