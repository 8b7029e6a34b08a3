"""Gather with indices known beforehand and evenly spaced (one element, a range): a view of the input.

Gathers from tables by run-time indices are refused: they need the table's access pattern, which the model does not
hold.
"""

from __future__ import annotations

import numpy as np

from archsim.ops.graph.family import Family
from archsim.ops.graph.nodes import Array, Inputs, Node, Shape, Value
from archsim.ops.lowering.builder import Builder
from archsim.ops.lowering.layout import Layout, cut


def shapes(node: Node, inputs: Inputs) -> tuple[Shape, ...]:
    """The input's shape with ``axis`` replaced by the shape of the indices."""
    if len(inputs) != 2 or inputs[0] is None or inputs[1] is None:
        node.fail("needs an input and indices")
    shape = inputs[0].shape
    axis = _axis(node, len(shape))
    return ((*shape[:axis], *inputs[1].shape, *shape[axis + 1 :]),)


def lower(node: Node, build: Builder) -> None:
    """A view with an offset and a stride."""
    source, indices = (build.value(name) for name in node.inputs)
    axis = _axis(node, len(source.shape))
    start, step, count = _progression(node, indices, source.shape[axis])

    def transform(layout: Layout) -> Layout | None:
        found = cut(layout, axis, start, step, count)
        if found is None or indices.shape:
            return found
        return Layout(found.root, found.offset, (*found.axes[:axis], *found.axes[axis + 1 :]))

    build.view(node, node.outputs[0], transform)


def reference(node: Node, data: Array, indices: Array) -> tuple[Array, ...]:
    """NumPy's take."""
    return (np.take(data, indices, axis=_axis(node, data.ndim)),)


def _progression(node: Node, indices: Value, size: int) -> tuple[int, int, int]:
    """First index, step and count; raises UnsupportedError for indices that are not such."""
    if indices.data is None or len(indices.shape) > 1:
        node.unsupported("looks up a table with run-time indices")
    found = [int(index) % size for index in np.ravel(indices.data)]
    step = found[1] - found[0] if len(found) > 1 else 1
    if step < 1 or found != list(range(found[0], found[0] + step * len(found), step)):
        node.unsupported(f"indices {found[:8]} are not evenly spaced upwards")
    return found[0], step, len(found)


def _axis(node: Node, rank: int) -> int:
    axis = node.integer("axis", 0)
    if not -rank <= axis < rank:
        node.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
    return axis % rank


FAMILY = Family(("Gather",), shapes, reference, lower, result="view", arity=2)
