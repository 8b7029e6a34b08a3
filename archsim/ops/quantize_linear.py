"""QuantizeLinear and DequantizeLinear: statements of number formats, not work.

On an activation the pair says which elements its tensor has, (q - zero point) * scale, and costs nothing: it is an
alias, and the format goes with the value. On a constant DequantizeLinear is folded: the file stores the elements.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, GraphValue, Inputs, Shape
from archsim.ops.kit.family import OperatorFamily

SCALE_TYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}  # of blocks, as number formats call them


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input."""
    if inputs[0] is None or inputs[1] is None:
        node.fail("needs an input and a scale")
    if inputs[1].elements != 1 and not inputs[0].constant:
        node.unsupported("has a scale for each channel of an activation; allowed one scale")
    _check_scales(node, inputs[0].shape, inputs[1])
    zero = inputs[2] if len(inputs) > 2 else None
    if zero is not None and zero.elements != inputs[1].elements:
        node.fail(f"'{zero.name}' has shape {list(zero.shape)}; allowed that of its scales, {list(inputs[1].shape)}")
    return (inputs[0].shape,)


def _check_scales(node: GraphNode, shape: Shape, scale: GraphValue) -> None:
    """Raise ModelError unless there is one scale, one of each element along ``axis``, or one of each block there."""
    axis, block, rank = node.integer("axis", 1), node.integer("block_size", 0), len(shape)
    if block < 0:
        node.fail(f"block_size {block}; allowed 1 or more, or 0 for no blocks")
    if scale.elements == 1 and not block:
        return
    if not -rank <= axis < rank:
        node.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
    blocks = tuple(-(-size // block) if at == axis % rank else size for at, size in enumerate(shape)) if block else ()
    wanted = blocks or (shape[axis],)
    if scale.shape != wanted:
        node.fail(
            f"'{scale.name}' has shape {list(scale.shape)}; axis {axis} and block_size {block} make {list(wanted)}"
        )


def reference(node: GraphNode, data: Array, scale: Array, zero: Array | None = None) -> tuple[Array, ...]:
    """By definition; scales along ``axis``, of blocks of ``block_size`` or of one element, rounding half to even."""
    wide, offset = spread(node, data.shape, scale, zero)
    kind = np.uint8 if zero is None else zero.dtype
    if node.op == "DequantizeLinear":
        return (((data.astype(np.float64) - offset) * wide).astype(np.float32),)
    limits = np.iinfo(kind)
    return (np.clip(np.rint(data / wide) + offset, limits.min, limits.max).astype(kind),)


def spread(node: GraphNode, shape: Shape, scale: Array, zero: Array | None = None) -> tuple[Array, Array]:
    """Scale and zero of each element of ``shape``, in forms that broadcast over it."""
    return _spread(node, scale, shape), np.zeros(()) if zero is None else _spread(node, zero, shape)


def _spread(node: GraphNode, stated: Array, shape: Shape) -> Array:
    """Scales or zeros in a form that broadcasts over elements of ``shape``."""
    axis, block = node.integer("axis", 1) % max(len(shape), 1), node.integer("block_size", 0)
    if block:
        whole = np.repeat(stated.astype(np.float64), block, axis=axis)
        return np.take(whole, range(shape[axis]), axis=axis)
    along = [-1 if other == axis else 1 for other in range(len(shape))]
    return stated.reshape(along if stated.size > 1 else ()).astype(np.float64)


FAMILY = OperatorFamily(
    ("QuantizeLinear", "DequantizeLinear"), shapes, reference, result="alias", order="same", arity=2, steers=(1, 2)
)
