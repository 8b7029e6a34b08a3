"""Sliding windows: kernel, stride, dilation and pads of convolution and pooling, on any number of spatial axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archsim.ir.graph import Array, GraphNode, Shape
from archsim.ir.workload import Axis
from archsim.ops.kit.access import at

AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Per spatial axis: ``kernel``, ``strides``, ``dilations``, pads before (``begins``) and after (``ends``),
    ``out``.
    """

    kernel: Shape
    strides: Shape
    dilations: Shape
    begins: Shape
    ends: Shape
    out: Shape

    def axes(self, positions: tuple[str, ...], taps: tuple[str, ...]) -> tuple[Axis, ...]:
        """Input index of each spatial axis: position * stride + tap * dilation - pad."""
        return tuple(
            at((position, stride), (tap, dilation), offset=-begin)
            for position, tap, stride, dilation, begin in zip(
                positions, taps, self.strides, self.dilations, self.begins, strict=True
            )
        )

    def padded(self, data: Array, fill: float) -> Array:
        """The array (N, C, ...) with pads, and with what the last windows reach beyond them."""
        reach = [
            max(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - size - begin)
            for out, stride, kernel, dilation, size, begin in zip(
                self.out, self.strides, self.kernel, self.dilations, data.shape[2:], self.begins, strict=True
            )
        ]
        pads = [(0, 0), (0, 0), *zip(self.begins, reach, strict=True)]
        return np.pad(data, pads, constant_values=fill)

    def slices(self, position: tuple[int, ...]) -> tuple[slice, ...]:
        """Where window position ``position`` falls in the padded array, for all outputs."""
        starts = [index * dilation for index, dilation in zip(position, self.dilations, strict=True)]
        return tuple(
            slice(start, start + (out - 1) * stride + 1, stride)
            for start, out, stride in zip(starts, self.out, self.strides, strict=True)
        )


def window_of(node: GraphNode, shape: Shape, kernel: Shape) -> SlidingWindow:
    """The window of a node on an input of ``shape`` (N, C, ...); raises ModelError for attributes that do not fit.

    ``kernel``: the taps of its weights, () for a node without weights (pooling).

    Output size: floor((size + pads - dilation*(kernel-1) - 1) / stride) + 1, ceil with ``ceil_mode`` unless the last
    window would start in the end pad (a pooling window may then reach beyond all of its input, and is cut there); with
    SAME_* ``auto_pad`` ceil(size / stride), the odd pad after (UPPER) or before (LOWER).
    """
    axes = len(shape) - 2
    taps, kernel = kernel, node.integers("kernel_shape", kernel)
    if taps and kernel != taps:
        node.fail(f"kernel_shape {list(kernel)} is not that of its weights, {list(taps)}")
    strides = node.integers("strides", (1,) * axes)
    dilations = node.integers("dilations", (1,) * axes)
    pads = node.integers("pads", (0,) * (2 * axes))
    if [len(kernel), len(strides), len(dilations), len(pads)] != [axes, axes, axes, 2 * axes]:
        node.fail(f"kernel_shape, strides, dilations and pads must have {axes}, {axes}, {axes} and {2 * axes} entries")
    if min((*kernel, *strides, *dilations)) < 1 or min(pads) < 0:
        node.fail(f"kernel {kernel}, strides {strides}, dilations {dilations} must be >= 1 and pads {pads} >= 0")
    spans = tuple(dilation * (size - 1) + 1 for dilation, size in zip(dilations, kernel, strict=True))
    begins, ends = _pads(node, shape[2:], spans, strides, pads)
    _check_pads(node, spans, begins, ends, bool(taps))
    ceil = bool(node.integer("ceil_mode", 0))
    out = tuple(map(_out, shape[2:], spans, strides, begins, ends, (ceil,) * axes))
    if min(out) < 1:
        node.fail(f"window {spans} with pads {begins}+{ends} is larger than its input {list(shape)}")
    if ceil and not taps:
        reach = [size + sum(pads) for size, *pads in zip(shape[2:], begins, ends, strict=True)]
        kernel = tuple(min(size, -(-far // step)) for size, far, step in zip(kernel, reach, dilations, strict=True))
    return SlidingWindow(kernel, strides, dilations, begins, ends, out)


def _check_pads(node: GraphNode, spans: Shape, begins: Shape, ends: Shape, weighted: bool) -> None:
    """Pads reach no farther than the window: to its whole span where it has weights, else a position less, since of
    padding alone there is no maximum and no average."""
    for span, pad in zip((*spans, *spans), (*begins, *ends), strict=True):
        most = span if weighted else span - 1
        if pad > most:
            node.fail(f"pads {begins}+{ends} go beyond its window {spans}; allowed at most {most} on that side")


def _pads(node: GraphNode, sizes: Shape, spans: Shape, strides: Shape, pads: Shape) -> tuple[Shape, Shape]:
    mode = node.text("auto_pad", "NOTSET")
    if mode not in AUTO_PADS:
        node.fail(f"auto_pad '{mode}'; allowed {', '.join(AUTO_PADS)}")
    if mode == "NOTSET":
        return pads[: len(sizes)], pads[len(sizes) :]
    if mode == "VALID":
        return (0,) * len(sizes), (0,) * len(sizes)
    total = tuple(
        max(0, (-(-size // stride) - 1) * stride + span - size)
        for size, span, stride in zip(sizes, spans, strides, strict=True)
    )
    small, large = tuple(pad // 2 for pad in total), tuple(pad - pad // 2 for pad in total)
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def _out(size: int, span: int, stride: int, begin: int, end: int, ceil: bool) -> int:
    room = size + begin + end - span
    if room < 0 and not ceil:
        return 0
    out = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (out - 1) * stride >= size + begin:
        out -= 1
    return out
