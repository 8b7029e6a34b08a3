"""GroupNormalization: each group of channels by its own mean and variance, then scale and bias of each channel, or of
each group as in opset 18. Its parts do it (archsim/graph/passes/group_norm.py)."""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import Sums
from archsim.ops.layer_norm import rounding as of_rows


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """That of the input (N, C, ...)."""
    assert inputs[0] is not None
    shape, groups = inputs[0].shape, node.integer("num_groups", 0)
    if len(shape) < 3 or groups < 1 or shape[1] % groups:
        node.fail(f"{groups} groups of shape {list(shape)}; allowed a divisor of the second of 3 axes or more")
    for value in inputs[1:]:
        if value is not None and value.shape not in ((groups,), (shape[1],)):
            node.fail(f"scale or bias has shape {list(value.shape)}; allowed [{groups}] or [{shape[1]}]")
    return (shape,)


def reference(node: GraphNode, data: Array, scale: Array, bias: Array) -> tuple[Array, ...]:
    """By definition, in double precision."""
    groups = node.integer("num_groups", 0)
    rows = data.astype(np.float64).reshape(data.shape[0], groups, -1)
    rows = rows - rows.mean(-1, keepdims=True)
    rows = rows / np.sqrt(np.mean(rows * rows, -1, keepdims=True) + node.number("epsilon", 1e-5))
    wide = (_of_channels(each, data.shape) for each in (scale, bias))
    return ((rows.reshape(data.shape) * next(wide) + next(wide)).astype(data.dtype),)


def rounding(node: GraphNode, data: Array, scale: Array, bias: Array) -> Sums:
    """That of the rows, each times its channel's scale, and the bias."""
    groups = node.integer("num_groups", 0)
    rows = data.reshape(data.shape[0] * groups, prod(data.shape[1:]) // groups)
    plain = GraphNode(node.name, "LayerNormalization", (), (), {"epsilon": node.number("epsilon", 1e-5)})
    found = of_rows(plain, rows, np.ones(rows.shape[1:]))
    wide = [np.abs(_of_channels(each, data.shape)) for each in (scale, bias)]
    spread = np.broadcast_to(found.magnitude * found.roundings, rows.shape).reshape(data.shape)
    share = np.abs(reference(node, data, np.ones(groups), np.zeros(groups))[0])
    return Sums((spread + share) * wide[0] + wide[1], 2.0)


def _of_channels(numbers: Array, shape: Shape) -> Array:
    each = np.repeat(numbers, shape[1] // numbers.size)
    return each.reshape(-1, *[1] * (len(shape) - 2))


FAMILY = OperatorFamily(("GroupNormalization",), shapes, reference, arity=3, positive=(1,), rounding=rounding)
