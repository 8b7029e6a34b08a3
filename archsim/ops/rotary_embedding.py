"""Rotary position embedding: pairs of elements of each head turned by an angle that grows with their position.

With tables c and s of one number for each pair (or, what patterns of graphs have, one for each element):
(x1, x2) -> (x1 * c - x2 * s, x2 * c + x1 * s), where x1 and x2 are the halves of a row, or its elements in turn
(``interleaved``). Tables by position are looked up first (archsim/graph/passes/rotary_positions.py). Cost: 3 passes,
two products and the exchange of pairs. Rows are not tiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ir.workload import Axis
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import FunctionCall
from archsim.ops.kit.rounding import EPILOGUE, Sums
from archsim.ops.kit.steps import step

PASSES = 3
HALF, PLACE, HEAD = "h", "j", "g"  # dims of a row: which of a pair, which pair, which head


class Row(NamedTuple):
    """The last axis of the input: ``heads`` of ``width`` elements each."""

    heads: int
    width: int

    def element(self, interleaved: bool) -> Axis:
        """An element by head, pair and which of the pair."""
        pair = ((PLACE, 2), (HALF, 1)) if interleaved else ((HALF, self.width // 2), (PLACE, 1))
        return at((HEAD, self.width), *pair) if self.heads > 1 else at(*pair)

    def extents(self, interleaved: bool) -> dict[str, int]:
        """Its dims, outermost first."""
        pair = {HALF: 2, PLACE: self.width // 2}
        inner = dict(reversed(pair.items())) if interleaved else pair
        return {HEAD: self.heads, **inner} if self.heads > 1 else inner


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input."""
    source, cos, sin = inputs[:3]
    assert source is not None and cos is not None and sin is not None
    row = _row(node, source.shape)
    rotated = node.integer("rotary_embedding_dim", 0)
    if rotated not in (0, row.width):
        node.unsupported(f"rotates {rotated} of {row.width} elements of a head")
    if row.width % 2 or cos.shape != sin.shape or cos.shape[-1:] not in ((row.width,), (row.width // 2,)):
        node.fail(f"tables of shapes {list(cos.shape)} and {list(sin.shape)} do not fit heads of {row.width} elements")
    return (source.shape,)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer; heads are whole."""
    source, cos, sin = node.inputs[:3]
    shape, interleaved = build.shape(source), bool(node.integer("interleaved", 0))
    row = _row(node, shape)
    outer = tuple(f"d{axis}" for axis in range(len(shape) - 1))
    index = (*(at(dim) for dim in outer), row.element(interleaved))
    reads = [LogicalAccess("in0", source, index)]
    for name in (cos, sin):
        table = build.shape(name)
        last = Row(1, row.width).element(interleaved) if table[-1] == row.width else at(PLACE)
        reads.append(LogicalAccess(f"in{len(reads)}", name, (*_outer(table, shape, outer, row), last)))
    extents = dict(zip(outer, shape, strict=False)) | row.extents(interleaved)
    write = LogicalAccess("out", node.outputs[0], index)
    found = step("rotate_pairs", PASSES, over=(HALF,))
    build.layer(node, "vector", extents, tuple(reads), write, parts=LayerParts(whole=(HALF, PLACE)), steps=(found,))


def _outer(table: Shape, shape: Shape, outer: tuple[str, ...], row: Row) -> tuple[Axis, ...]:
    """How the axes of a table but its last follow those of the input, of which heads have none of their own.

    Tables of as many axes as the input broadcast; else they have batch and position, as ONNX has them.
    """
    dims = outer if len(table) == len(shape) else (outer[0], outer[-1])
    sizes = shape[:-1] if len(table) == len(shape) else (shape[0], shape[len(shape) - 2])
    return tuple(HERE if size == 1 < extent else at(dim) for size, dim, extent in zip(table, dims, sizes, strict=False))


def reference(node: GraphNode, data: Array, cos: Array, sin: Array, *positions: Array | None) -> tuple[Array, ...]:
    """By definition, in double precision."""
    row, interleaved = _row(node, data.shape), bool(node.integer("interleaved", 0))
    cos, sin = _at(cos, positions), _at(sin, positions)
    heads = _paired(data.astype(np.float64).reshape(*data.shape[:-1], row.heads, row.width), interleaved)
    tables = [_table(table, data.shape, interleaved, row.width) for table in (cos, sin)]
    turned = _turned(heads, tables[0], tables[1], -2)
    back = np.swapaxes(turned, -1, -2) if interleaved else turned
    return (back.reshape(data.shape).astype(data.dtype),)


def rounding(node: GraphNode, data: Array, cos: Array, sin: Array, *positions: Array | None) -> Sums:
    """Two products that are added up."""
    row, interleaved = _row(node, data.shape), bool(node.integer("interleaved", 0))
    cos, sin = _at(cos, positions), _at(sin, positions)
    heads = _paired(np.abs(data).reshape(*data.shape[:-1], row.heads, row.width), interleaved)
    tables = [np.abs(_table(table, data.shape, interleaved, row.width)) for table in (cos, sin)]
    total = heads * tables[0] + np.flip(heads, -2) * tables[1]
    back = np.swapaxes(total, -1, -2) if interleaved else total
    return Sums(back.reshape(data.shape), EPILOGUE + 2)


def _at(table: Array, positions: tuple[Array | None, ...]) -> Array:
    """The table's rows at the positions, where there are any."""
    return table[positions[0]] if positions and positions[0] is not None else table


def _row(node: GraphNode, shape: Shape) -> Row:
    """Heads have an axis of their own, or the last one of three axes has all heads (``num_heads``)."""
    heads = node.integer("num_heads", 0) if len(shape) == 3 else 0
    if heads and shape[-1] % heads:
        node.fail(f"{shape[-1]} elements are no {heads} heads of one size")
    return Row(heads or 1, shape[-1] // (heads or 1))


def _paired(data: Array, interleaved: bool) -> Array:
    """The last axis as (which of the pair, pair)."""
    width = data.shape[-1]
    if interleaved:
        return np.swapaxes(data.reshape(*data.shape[:-1], width // 2, 2), -1, -2)
    return data.reshape(*data.shape[:-1], 2, width // 2)


def _table(table: Array, shape: Shape, interleaved: bool, width: int) -> Array:
    """A table that broadcasts with (..., heads, 2, pairs)."""
    table = table.astype(np.float64)
    paired = _paired(table, interleaved) if table.shape[-1] == width else table[..., None, :]
    if table.ndim == len(shape) == 4:
        return paired[..., None, :, :]
    return paired[:, None, :, None, :, :] if len(shape) == 4 else paired[..., None, :, :]


def _turned(pairs: Array, cos: Array, sin: Array, axis: int) -> Array:
    """``axis``: the one of two elements, which of the pair it is."""
    sign = np.array([-1.0, 1.0]).reshape([2 if at % pairs.ndim == axis % pairs.ndim else 1 for at in range(pairs.ndim)])
    return np.asarray(pairs * cos + sign * np.flip(pairs, axis) * sin)


def _over(call: FunctionCall) -> Array:
    pairs, cos, sin = call.values
    return _turned(pairs, cos, sin, call.axes("over")[0])


FAMILY = OperatorFamily(
    ("RotaryEmbedding",),
    shapes,
    reference,
    lower,
    order="same",
    arity=3,
    functions={"rotate_pairs": _over},
    rounding=rounding,
)
