"""Reshape, flatten, squeeze and unsqueeze: views of the input wherever its memory order allows, else copies of it.

A flattened channels-last image stays in place: whoever reads it along the flattened axis reads channel, row and column.
"""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.layout import reshape as relaid


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The target shape: second input (Reshape), axes (Squeeze, Unsqueeze) or ``axis`` (Flatten)."""
    if inputs[0] is None:
        node.fail("needs an input")
    argument = integers_of(node, inputs[1], "its target shape") if len(inputs) > 1 else None
    return (_target(node, inputs[0].shape, argument),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """A view of the input."""
    target = build.shape(node.outputs[0])
    build.view(node, node.outputs[0], lambda layout: relaid(layout, target))


def reference(node: GraphNode, data: Array, argument: Array | None = None) -> tuple[Array, ...]:
    """NumPy's reshape."""
    given = None if argument is None else tuple(int(item) for item in np.ravel(argument))
    return (data.reshape(_target(node, data.shape, given)),)


def _target(node: GraphNode, shape: Shape, argument: Shape | None) -> Shape:
    if node.op == "Reshape":
        return _reshaped(node, shape, argument)
    if node.op == "Flatten":
        axis = node.integer("axis", 1)
        if not -len(shape) <= axis <= len(shape):
            node.fail(f"axis {axis}; allowed {-len(shape)} to {len(shape)}")
        return (prod(shape[:axis]), prod(shape[axis:]))
    if node.op == "Squeeze":
        return _squeezed(node, shape, argument)
    if argument is None:
        node.fail("needs axes")
    return _unsqueezed(node, shape, argument)


def _reshaped(node: GraphNode, shape: Shape, argument: Shape | None) -> Shape:
    """0 keeps the input's size (unless ``allowzero``), one -1 takes what is left."""
    if argument is None or sum(size == -1 for size in argument) > 1:
        node.fail("needs a target shape with at most one -1")
    keep = not node.integer("allowzero", 0)
    if keep and any(size == 0 and axis >= len(shape) for axis, size in enumerate(argument)):
        node.fail(f"target {list(argument)} keeps an axis that {list(shape)} has not")
    sizes = [shape[axis] if size == 0 and keep else size for axis, size in enumerate(argument)]
    known = prod(size for size in sizes if size != -1)
    if -1 in sizes and known:
        sizes[sizes.index(-1)] = prod(shape) // known
    if prod(sizes) != prod(shape) or min(sizes, default=0) < 0:
        node.fail(f"target {list(argument)} does not hold the {prod(shape)} elements of {list(shape)}")
    return tuple(sizes)


def _squeezed(node: GraphNode, shape: Shape, argument: Shape | None) -> Shape:
    axes = [axis for axis, size in enumerate(shape) if size == 1] if argument is None else list(argument)
    dropped = {axis % len(shape) for axis in axes if -len(shape) <= axis < len(shape)}
    if len(dropped) != len(axes) or any(shape[axis] != 1 for axis in dropped):
        node.fail(f"axes {axes} of {list(shape)} are not all of size 1")
    return tuple(size for axis, size in enumerate(shape) if axis not in dropped)


def _unsqueezed(node: GraphNode, shape: Shape, argument: Shape) -> Shape:
    rank = len(shape) + len(argument)
    new = {axis % rank for axis in argument if -rank <= axis < rank}
    if len(new) != len(argument):
        node.fail(f"axes {list(argument)}; allowed different ones from {-rank} to {rank - 1}")
    rest = iter(shape)
    return tuple(1 if axis in new else next(rest) for axis in range(rank))


FAMILY = OperatorFamily(
    ("Reshape", "Flatten", "Squeeze", "Unsqueeze"), shapes, reference, lower, result="view", target=1
)
