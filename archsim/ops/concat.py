"""Concatenation along one axis: producers write their part of the result in place; what cannot be placed is copied."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import JoinSlots, OperatorFamily
from archsim.ops.kit.layout import part


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The inputs' shape with the sizes along ``axis`` added."""
    found = [value.shape for value in inputs if value is not None]
    axis = _axis(node, len(found[0]))
    rest = [(*shape[:axis], *shape[axis + 1 :]) for shape in found]
    if any(len(shape) != len(found[0]) for shape in found) or any(other != rest[0] for other in rest):
        node.fail(f"shapes {' and '.join(str(list(shape)) for shape in found)} differ outside axis {axis}")
    return ((*found[0][:axis], sum(shape[axis] for shape in found), *found[0][axis + 1 :]),)


def slots(node: GraphNode, inputs: Inputs) -> JoinSlots:
    """Each input starts where the one before it ends."""
    found = [value.shape for value in inputs if value is not None]
    axis = _axis(node, len(found[0]))
    return JoinSlots(axis, tuple(accumulate((shape[axis] for shape in found[:-1]), initial=0)))


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """A view of the placed inputs; a copy layer for each of the others."""
    joined = slots(node, tuple(build.value(name) for name in node.inputs))
    whole = build.home(node.outputs[0])
    if whole is None:
        node.fail("its result has no place")
    for index, (name, start) in enumerate(zip(node.inputs, joined.starts, strict=True)):
        target = part(whole, build.shape(name), joined.axis, start)
        if build.home(name) != target:
            build.copy_into(node, index, target)
    build.joined(node)


def reference(node: GraphNode, *arrays: Array) -> tuple[Array, ...]:
    """NumPy's concatenate."""
    return (np.concatenate(arrays, axis=_axis(node, arrays[0].ndim)),)


def _axis(node: GraphNode, rank: int) -> int:
    axis = node.integer("axis", 0)
    if not -rank <= axis < rank:
        node.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
    return axis % rank


FAMILY = OperatorFamily(("Concat",), shapes, reference, lower, order="same", slots=slots)
