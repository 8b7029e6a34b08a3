"""Gather with indices known beforehand and evenly spaced (one element, a range): a view of the input.

Any other Gather becomes a GatherRows before it is lowered (``archsim.graph.passes.lookups``).
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, GraphValue, Inputs, Shape
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.layout import LogicalLayout, cut
from archsim.ops.kit.lookups import INDEX_TYPES, axis_of, progression


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The input's shape with ``axis`` replaced by the shape of the indices."""
    if len(inputs) != 2 or inputs[0] is None or inputs[1] is None:
        node.fail("needs an input and indices")
    shape = inputs[0].shape
    axis = axis_of(node, len(shape))
    _refuse_wrong(node, inputs[1], shape[axis])
    return ((*shape[:axis], *inputs[1].shape, *shape[axis + 1 :]),)


def _refuse_wrong(node: GraphNode, indices: GraphValue, rows: int) -> None:
    """Raise ModelError for indices that are no whole numbers, and for constant ones outside of the table."""
    if indices.kind != "activation" and indices.dtype not in INDEX_TYPES:
        node.fail(f"indices '{indices.name}' have elements of type {indices.dtype}; allowed {', '.join(INDEX_TYPES)}")
    if indices.data is None or not indices.data.size:
        return
    if indices.data.min() < -rows or indices.data.max() >= rows:
        wrong = indices.data[(indices.data < -rows) | (indices.data >= rows)]
        node.fail(f"index {int(wrong.flat[0])}; allowed {-rows} to {rows - 1}")


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """A view with an offset and a stride."""
    source, indices = (build.value(name) for name in node.inputs)
    axis = axis_of(node, len(source.shape))
    found = progression(node, indices)
    if found is None:
        node.unsupported("looks up rows by indices that are not evenly spaced constants")
    start, step, count = found[0] % source.shape[axis], found[1], found[2]

    def transform(layout: LogicalLayout) -> LogicalLayout | None:
        found = cut(layout, axis, start, step, count)
        if found is None or indices.shape:
            return found
        return LogicalLayout(found.root, found.offset, (*found.axes[:axis], *found.axes[axis + 1 :]))

    build.view(node, node.outputs[0], transform)


def reference(node: GraphNode, data: Array, indices: Array) -> tuple[Array, ...]:
    """NumPy's take; indices come as real numbers from where all constants are."""
    return (np.take(data, np.asarray(indices).astype(np.int64), axis=axis_of(node, data.ndim)),)


FAMILY = OperatorFamily(("Gather",), shapes, reference, lower, result="view", arity=2)
