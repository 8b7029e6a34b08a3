"""Max and average pooling, windowed and global.

Cost: one lane pass per window point (a comparison, or an addition whose last one carries the 1/area scale): each index
point of the dims n, p, q, c, r, s. Windows are not tiled. Guards leave out what of a window lies in the padding.
"""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ir.workload import Axis, Guard
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import KERNEL, SPATIAL, LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth
from archsim.ops.kit.steps import step
from archsim.ops.kit.window import SlidingWindow, window_of

GLOBAL = ("GlobalAveragePool", "GlobalMaxPool")
MAXIMUM = ("MaxPool", "GlobalMaxPool")


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """(N, C, ...) to (N, C, ...) with pooled spatial axes."""
    if inputs[0] is None or not 3 <= len(inputs[0].shape) <= 5:
        node.unsupported("needs an input with 1 to 3 spatial axes")
    shape = inputs[0].shape
    if node.op in GLOBAL:
        return ((*shape[:2], *[1] * (len(shape) - 2)),)
    return ((*shape[:2], *_window(node, shape).out),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer over output positions and window points."""
    source, out = node.inputs[0], node.outputs[0]
    shape = build.shape(source)
    function = step("max" if node.op in MAXIMUM else "average", 1)
    spatial = SPATIAL[-(len(shape) - 2) :]
    guards: tuple[Guard, ...] = ()
    if node.op in GLOBAL:
        extents = {"n": shape[0], **dict(zip(spatial, shape[2:], strict=True)), "c": shape[1]}
        index = tuple(at(dim) for dim in ("n", "c", *spatial))
        written, whole = (at("n"), at("c"), *[HERE] * len(spatial)), spatial
    else:
        window, taps = _window(node, shape), KERNEL[-len(spatial) :]
        extents = {"n": shape[0], **dict(zip(spatial, window.out, strict=True)), "c": shape[1]}
        extents |= dict(zip(taps, window.kernel, strict=True))
        index = (at("n"), at("c"), *window.axes(spatial, taps))
        written, whole = tuple(at(dim) for dim in ("n", "c", *spatial)), taps
        guards = _guards(node, window, shape, window.axes(spatial, taps))
    build.layer(
        node,
        "vector",
        extents,
        (LogicalAccess("in0", source, index),),
        LogicalAccess("out", out, written),
        parts=LayerParts(whole=whole),
        steps=(function,),
        guards=guards,
    )


def _guards(node: GraphNode, window: SlidingWindow, shape: Shape, axes: tuple[Axis, ...]) -> tuple[Guard, ...]:
    """What of each window counts: points of the input; with ``count_include_pad`` those of the pads too."""
    counted = node.op not in MAXIMUM and bool(node.integer("count_include_pad", 0))
    found = []
    for axis, size, begin, end, out, stride, tap, dilation in zip(
        axes,
        shape[2:],
        window.begins,
        window.ends,
        window.out,
        window.strides,
        window.kernel,
        window.dilations,
        strict=True,
    ):
        last = (out - 1) * stride + (tap - 1) * dilation - begin
        low, length = (begin, begin + size + end) if counted else (0, size)
        if axis.offset + low < 0 or last + low >= length:
            found.append(Guard(Axis(axis.terms, axis.offset + low), length))
    return tuple(found)


def reference(node: GraphNode, data: Array) -> tuple[Array, ...]:
    """Maximum or mean over the window positions; averages count pads only with ``count_include_pad``."""
    axes = tuple(range(2, data.ndim))
    if node.op in GLOBAL:
        reduce = np.max if node.op in MAXIMUM else np.mean
        return (np.asarray(reduce(data, axis=axes, keepdims=True), data.dtype),)
    window = _window(node, data.shape)
    if node.op in MAXIMUM:
        return (np.max(_taps(window, data, -np.inf), axis=0).astype(data.dtype),)
    total = np.sum(_taps(window, data, 0), axis=0)
    return ((total / _counts(node, window, data)).astype(data.dtype),)


def rounding(node: GraphNode, data: Array) -> Sums:
    """The mean magnitude of a window; a maximum rounds nothing."""
    if node.op in MAXIMUM:
        return Sums(np.zeros(()), 0.0)
    terms = prod(data.shape[2:]) if node.op in GLOBAL else prod(_window(node, data.shape).kernel)
    return Sums(reference(node, np.abs(data))[0], growth(terms) + EPILOGUE)


def _taps(window: SlidingWindow, data: Array, fill: float) -> Array:
    padded = window.padded(data.astype(np.float64), fill)
    return np.stack(
        [padded[(slice(None), slice(None), *window.slices(position))] for position in np.ndindex(*window.kernel)]
    )


def _counts(node: GraphNode, window: SlidingWindow, data: Array) -> Array | int:
    """Divisor of each average: points inside the input, or inside the input and its pads."""
    ones = np.ones((1, 1, *data.shape[2:]))
    if node.integer("count_include_pad", 0):
        if not node.integer("ceil_mode", 0):
            return prod(window.kernel)
        pads = [(0, 0), (0, 0), *zip(window.begins, window.ends, strict=True)]
        ones = np.pad(ones, pads, constant_values=1)
        bare = SlidingWindow(
            window.kernel, window.strides, window.dilations, (0,) * len(window.out), window.ends, window.out
        )
        return np.asarray(np.sum(_taps(bare, ones, 0), axis=0))
    return np.asarray(np.sum(_taps(window, ones, 0), axis=0))


def _window(node: GraphNode, shape: Shape) -> SlidingWindow:
    if "kernel_shape" not in node.attributes:
        node.fail("has no kernel_shape")
    return window_of(node, shape, ())


FAMILY = OperatorFamily(
    ("MaxPool", "AveragePool", *GLOBAL), shapes, reference, lower, order="channels_last", rounding=rounding
)
