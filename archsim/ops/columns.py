"""Col2Im: columns of windows, added up where windows overlap: (N, C * window, windows) to (N, C, ...).

Its parts do it (archsim/graph/passes/col2im.py): windows side by side, and Fold, as behind a transposed convolution.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of, known_data
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth


class ColumnWindows(NamedTuple):
    """For each spatial axis: size of the ``image``, ``kernel``, ``strides``, ``begins`` and ``ends`` of the pads, and
    the ``counts`` of windows."""

    image: Shape
    kernel: Shape
    strides: Shape
    begins: Shape
    ends: Shape
    counts: Shape


def windows_of(node: GraphNode, data: Shape, image: Array | None, kernel: Array | None) -> ColumnWindows:
    """Of columns of shape (N, C * window, windows)."""
    if image is None or kernel is None:
        node.unsupported("the sizes of its image and windows are computed at run time")
    sizes, taps = (tuple(int(number) for number in np.ravel(each)) for each in (image, kernel))
    axes = len(taps)
    strides, pads = node.integers("strides", (1,) * axes), node.integers("pads", (0,) * (2 * axes))
    if any(step != 1 for step in node.integers("dilations", ())):
        node.unsupported(f"dilations {list(node.integers('dilations', ()))}; allowed 1")
    if [len(sizes), len(strides), len(pads)] != [axes, axes, 2 * axes] or min((*taps, *strides, *sizes, 1)) < 1:
        node.fail(f"image {list(sizes)}, window {list(taps)}, strides {strides} and pads {pads} do not fit")
    if min((*pads, 0)) < 0:
        node.fail(f"pads {list(pads)}; allowed 0 or more")
    begins, ends = pads[:axes], pads[axes:]
    reach = zip(sizes, taps, strides, begins, ends, strict=True)
    counts = tuple((size + begin + end - tap) // stride + 1 for size, tap, stride, begin, end in reach)
    if len(data) != 3 or min((*counts, 1)) < 1 or data[1] % prod(taps) or data[2] != prod(counts):
        node.fail(f"columns {list(data)} are not those of windows {list(taps)}, {list(counts)} of them")
    return ColumnWindows(sizes, taps, strides, begins, ends, counts)


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """(N, C, ...)."""
    assert inputs[0] is not None
    data = inputs[0].shape
    for value in inputs[1:3]:
        integers_of(node, value, "the size of its image or windows")
    found = windows_of(node, data, *(known_data(value) for value in inputs[1:3]))
    return ((data[0], data[1] // prod(found.kernel), *found.image),)


def reference(node: GraphNode, data: Array, image: Array, kernel: Array) -> tuple[Array, ...]:
    """Each window position of all windows at once is added to the padded image."""
    found = windows_of(node, data.shape, image, kernel)
    columns = data.reshape(data.shape[0], -1, *found.kernel, *found.counts)
    padded = [sum(each) for each in zip(found.image, found.begins, found.ends, strict=True)]
    full = np.zeros((data.shape[0], columns.shape[1], *padded), data.dtype)
    for position in np.ndindex(*found.kernel):
        put = tuple(
            slice(tap, tap + (count - 1) * stride + 1, stride)
            for tap, count, stride in zip(position, found.counts, found.strides, strict=True)
        )
        full[(slice(None), slice(None), *put)] += columns[(slice(None), slice(None), *position)]
    kept = tuple(slice(begin, begin + size) for begin, size in zip(found.begins, found.image, strict=True))
    return (full[(slice(None), slice(None), *kept)],)


def rounding(node: GraphNode, data: Array, image: Array, kernel: Array) -> Sums:
    """The same sum of magnitudes."""
    (magnitude,) = reference(node, np.abs(data), image, kernel)
    return Sums(magnitude, growth(int(np.prod(kernel))) + EPILOGUE, is_linear=True)


FAMILY = OperatorFamily(("Col2Im",), shapes, reference, arity=3, steers=(1, 2), rounding=rounding)
