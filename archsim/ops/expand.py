"""Broadcast to a larger shape: a view whose repeated axes have stride 0."""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.layout import broadcast


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The input's shape broadcast with the second input."""
    if inputs[0] is None or len(inputs) < 2:
        node.fail("needs an input and a shape")
    target = integers_of(node, inputs[1], "its target shape") or ()
    try:
        return (tuple(np.broadcast_shapes(inputs[0].shape, target)),)
    except ValueError:
        node.fail(f"shape {list(inputs[0].shape)} does not broadcast to {list(target)}")


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """A view of the input."""
    shape = build.shape(node.outputs[0])
    build.view(node, node.outputs[0], lambda layout: broadcast(layout, shape))


def reference(node: GraphNode, data: Array, shape: Array) -> tuple[Array, ...]:
    """NumPy's broadcast_to."""
    target = np.broadcast_shapes(data.shape, tuple(int(size) for size in shape))
    return (np.broadcast_to(data, target),)


FAMILY = OperatorFamily(("Expand",), shapes, reference, lower, result="view", target=1, arity=2)
