"""QuantizeLinear and DequantizeLinear: statements of number formats, not work.

On an activation the pair says which elements its tensor has, (q - zero point) * scale, and costs nothing: it is an
alias, and the format goes with the value. On a constant DequantizeLinear is folded: the file stores the elements.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.family import OperatorFamily


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input."""
    if inputs[0] is None or inputs[1] is None:
        node.fail("needs an input and a scale")
    if inputs[1].elements != 1 and not inputs[0].constant:
        node.unsupported("has a scale for each channel of an activation; allowed one scale")
    return (inputs[0].shape,)


def reference(node: GraphNode, data: Array, scale: Array, zero: Array | None = None) -> tuple[Array, ...]:
    """By definition; scales along ``axis``, rounding half to even."""
    axis = node.integer("axis", 1)
    shape = [-1 if scale.ndim and scale.size > 1 and other == axis % data.ndim else 1 for other in range(data.ndim)]
    wide = scale.reshape(shape if scale.size > 1 else ()).astype(np.float64)
    kind = np.uint8 if zero is None else zero.dtype
    offset = 0.0 if zero is None else zero.reshape(shape if zero.size > 1 else ()).astype(np.float64)
    if node.op == "DequantizeLinear":
        return (((data.astype(np.float64) - offset) * wide).astype(np.float32),)
    limits = np.iinfo(kind)
    return (np.clip(np.rint(data / wide) + offset, limits.min, limits.max).astype(kind),)


FAMILY = OperatorFamily(
    ("QuantizeLinear", "DequantizeLinear"), shapes, reference, result="alias", order="same", arity=2, steers=(1, 2)
)
