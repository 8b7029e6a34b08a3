"""Slices with a positive step: a view of the input."""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.layout import LogicalLayout, cut

SliceRanges = dict[int, range]  # axis -> the indices taken


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Sizes of the slices; starts, ends, axes and steps are inputs 1 to 4."""
    if inputs[0] is None or len(inputs) < 3:
        node.fail("needs an input, starts and ends")
    shape = inputs[0].shape
    taken = _ranges(node, shape, _bounds(node, inputs))
    return (tuple(len(taken[axis]) if axis in taken else size for axis, size in enumerate(shape)),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """A view with an offset and coarser strides."""
    inputs = tuple(build.value(name) if name else None for name in node.inputs)
    taken = _ranges(node, build.shape(node.inputs[0]), _bounds(node, inputs))
    if any(indices.step < 0 for indices in taken.values()):
        node.unsupported("reverses an axis; export the model without negative steps")
    build.view(node, node.outputs[0], lambda layout: _cuts(layout, taken))


def reference(node: GraphNode, data: Array, *bounds: Array | None) -> tuple[Array, ...]:
    """Picks the indices of each axis."""
    lists = [None if bound is None else tuple(int(item) for item in bound) for bound in bounds]
    for axis, indices in _ranges(node, data.shape, lists).items():
        data = np.take(data, list(indices), axis=axis)
    return (data,)


def _bounds(node: GraphNode, inputs: Inputs) -> list[Shape | None]:
    names = ("the list of starts", "the list of ends", "the list of axes", "the list of steps")
    return [integers_of(node, value, name) for value, name in zip(inputs[1:], names, strict=False)]


def _ranges(node: GraphNode, shape: Shape, bounds: list[Shape | None]) -> SliceRanges:
    starts, ends, axes, steps = (*bounds, None, None)[:4]
    if starts is None or ends is None:
        node.fail("needs starts and ends")
    axes = axes if axes is not None else tuple(range(len(starts)))
    steps = steps if steps is not None else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        node.fail("starts, ends, axes and steps must have one entry an axis, and steps must not be 0")
    if any(not -len(shape) <= axis < len(shape) for axis in axes):
        node.fail(f"axes {list(axes)}; allowed {-len(shape)} to {len(shape) - 1}")
    found: SliceRanges = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = shape[axis]
        found[axis % len(shape)] = range(size)[slice(start, end, step)]
    return found


def _cuts(layout: LogicalLayout, taken: SliceRanges) -> LogicalLayout | None:
    for axis, indices in taken.items():
        found = cut(layout, axis, indices.start, indices.step, len(indices))
        if found is None:
            return None
        layout = found
    return layout


FAMILY = OperatorFamily(("Slice",), shapes, reference, lower, order="same", result="view", arity=3)
