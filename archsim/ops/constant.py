"""Values that are known before the model runs: filled constants, shapes of tensors, number ranges.

``ConstantOfShape`` stands for weights in graphs stored without them: its elements count as parameters and are never
made, unless they are few enough to steer shapes.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.family import OperatorFamily


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape held by the first input."""
    shape = integers_of(node, inputs[0], "its shape") if inputs else None
    if shape is None or any(size < 0 for size in shape):
        node.fail(f"needs a shape of sizes >= 0, found {shape}")
    return (shape,)


def known(node: GraphNode, inputs: Inputs) -> Array | None:
    """The filled array (asked for small shapes only)."""
    shape = shapes(node, inputs)[0]
    return np.full(shape, node.number("value", 0.0), np.dtype(node.text("dtype", "float32")))


def reference(node: GraphNode, shape: Array) -> tuple[Array, ...]:
    """NumPy's full."""
    sizes = tuple(int(size) for size in shape)
    return (np.full(sizes, node.number("value", 0.0), np.dtype(node.text("dtype", "float32"))),)


FAMILY = OperatorFamily(("ConstantOfShape",), shapes, reference, known=known, source=True)
