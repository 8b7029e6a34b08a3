"""Running sums along an axis: CumSum, of all elements up to each, or before it (``exclusive``), from the end too
(``reverse``).

Cost: ceil(log2(n)) passes an element of a row of n, each of which adds what lies 1, 2, 4, ... elements before (Hillis
and Steele, "Data parallel algorithms", Communications of the ACM 29(12), 1986). Rows are not tiled.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import FunctionCall
from archsim.ops.kit.rounding import Sums, growth
from archsim.ops.kit.steps import step


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """That of the input."""
    assert inputs[0] is not None and inputs[1] is not None
    shape = inputs[0].shape
    _axis(node, len(shape), integers_of(node, inputs[1], "its axis"))
    return (shape,)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer; a row is whole."""
    source, out = node.inputs[0], node.outputs[0]
    dims = build.dims(out)
    row = dims[_axis(node, len(dims), integers_of(node, build.value(node.inputs[1]), "its axis"))]
    index = tuple(at(dim) for dim in dims)
    size = build.extents(out)[row]
    found = step(
        "running_sum",
        max(1, (size - 1).bit_length()),
        over=(row,),
        exclusive=node.integer("exclusive", 0),
        reverse=node.integer("reverse", 0),
    )
    reads = (LogicalAccess("in0", source, index),)
    parts = LayerParts(whole=(row,))
    build.layer(
        node, "vector", build.extents(out), reads, LogicalAccess("out", out, index), parts=parts, steps=(found,)
    )


def reference(node: GraphNode, data: Array, axis: Array) -> tuple[Array, ...]:
    """NumPy's cumsum."""
    place = _axis(node, data.ndim, tuple(int(number) for number in np.ravel(axis)))
    rows = np.moveaxis(data, place, -1)
    found = _sums(rows, bool(node.integer("exclusive", 0)), bool(node.integer("reverse", 0)))
    return (np.moveaxis(found, -1, place).astype(data.dtype),)


def rounding(node: GraphNode, data: Array, axis: Array) -> Sums:
    """The same sum of magnitudes, of a row at most."""
    (magnitude,) = reference(node, np.abs(data), axis)
    return Sums(magnitude, growth(max(data.shape, default=1)), is_linear=True)


def _sums(rows: Array, exclusive: bool, reverse: bool) -> Array:
    turned = rows[..., ::-1] if reverse else rows
    found = np.cumsum(turned, -1)
    found = found - turned if exclusive else found
    return np.asarray(found[..., ::-1] if reverse else found)


def _axis(node: GraphNode, rank: int, stated: Shape | None) -> int:
    if stated is None or len(stated) != 1 or not -rank <= stated[0] < rank:
        node.fail(f"axis {list(stated or ())}; allowed one of {-rank} to {rank - 1}")
    return stated[0] % rank


def _running(call: FunctionCall) -> Array:
    exclusive, reverse = (bool(call.number(key, 0)) for key in ("exclusive", "reverse"))
    return call.along("over", lambda rows: _sums(rows, exclusive, reverse))


FAMILY = OperatorFamily(
    ("CumSum",),
    shapes,
    reference,
    lower,
    order="same",
    arity=2,
    steers=(1,),
    rounding=rounding,
    functions={"running_sum": _running},
)
