"""Tile: copies side by side along each axis. Its parts do it (archsim/graph/passes/tile.py): Expand between views."""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import moved


def times_of(node: GraphNode, inputs: Inputs) -> Shape:
    """How often each axis comes."""
    assert inputs[0] is not None and inputs[1] is not None
    times = integers_of(node, inputs[1], "how often it repeats") or ()
    if len(times) != len(inputs[0].shape) or min((*times, 1)) < 1:
        node.fail(
            f"repeats {list(times)} for shape {list(inputs[0].shape)}; allowed one number from 1 on for each axis"
        )
    return times


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Sizes times the repeats."""
    assert inputs[0] is not None
    return (tuple(size * count for size, count in zip(inputs[0].shape, times_of(node, inputs), strict=True)),)


def reference(node: GraphNode, data: Array, times: Array) -> tuple[Array, ...]:
    """NumPy's tile."""
    return (np.tile(data, tuple(int(count) for count in np.ravel(times))),)


FAMILY = OperatorFamily(("Tile",), shapes, reference, arity=2, steers=(1,), rounding=moved)
