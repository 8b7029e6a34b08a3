"""Split along one axis: every output is a view of the input."""

from __future__ import annotations

from functools import partial
from itertools import accumulate

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.layout import cut


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Sizes along ``axis`` from the second input, or equal parts (a smaller last one)."""
    if inputs[0] is None:
        node.fail("needs an input")
    shape = inputs[0].shape
    axis = _axis(node, len(shape))
    sizes = integers_of(node, inputs[1], "the list of sizes") if len(inputs) > 1 else None
    if sizes is None:
        each = -(-shape[axis] // len(node.outputs))
        sizes = tuple(min(each, shape[axis] - start * each) for start in range(len(node.outputs)))
    if sum(sizes) != shape[axis] or len(sizes) != len(node.outputs):
        node.fail(f"sizes {list(sizes)} do not divide axis {axis} of {list(shape)} into {len(node.outputs)} parts")
    return tuple((*shape[:axis], size, *shape[axis + 1 :]) for size in sizes)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One view per output that is read."""
    axis = _axis(node, len(build.shape(node.inputs[0])))
    sizes = [build.shape(name)[axis] for name in node.outputs]
    for name, size, start in zip(node.outputs, sizes, accumulate(sizes, initial=0), strict=False):
        build.view(node, name, partial(cut, axis=axis, start=start, step=1, count=size))


def reference(node: GraphNode, data: Array, sizes: Array | None = None) -> tuple[Array, ...]:
    """NumPy's split at the running sums of the sizes."""
    axis = _axis(node, data.ndim)
    if sizes is None:
        each = -(-data.shape[axis] // len(node.outputs))
        points = [each * part for part in range(1, len(node.outputs))]
    else:
        points = [int(point) for point in np.cumsum(sizes)[:-1]]
    return tuple(np.split(data, points, axis=axis))


def _axis(node: GraphNode, rank: int) -> int:
    axis = node.integer("axis", 0)
    if not -rank <= axis < rank:
        node.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
    return axis % rank


FAMILY = OperatorFamily(("Split",), shapes, reference, lower, order="same", result="view")
