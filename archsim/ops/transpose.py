"""Transposition of axes: a view of the input; whoever reads it walks other strides."""

from __future__ import annotations

from functools import partial

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.layout import transpose as relaid


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The sizes in the order ``perm`` (reversed when absent)."""
    if inputs[0] is None:
        node.fail("needs an input")
    return (tuple(inputs[0].shape[axis] for axis in _order(node, len(inputs[0].shape))),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """A view of the input."""
    order = _order(node, len(build.shape(node.inputs[0])))
    build.view(node, node.outputs[0], partial(relaid, order=order))


def reference(node: GraphNode, data: Array) -> tuple[Array, ...]:
    """NumPy's transpose."""
    return (np.transpose(data, _order(node, data.ndim)),)


def _order(node: GraphNode, rank: int) -> Shape:
    order = node.integers("perm", tuple(reversed(range(rank))))
    if sorted(order) != list(range(rank)):
        node.fail(f"perm {list(order)} is not an order of {rank} axes")
    return order


FAMILY = OperatorFamily(("Transpose",), shapes, reference, lower, result="view")
