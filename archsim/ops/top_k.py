"""The largest numbers along the last axis, in order: what a router takes of the shares of its experts.

Cost: of K numbers K passes over each input element, one maximum after the other. The dims of a row are not tiled.
Which elements they are (the second output) is not computed.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import FunctionCall
from archsim.ops.kit.rounding import moved
from archsim.ops.kit.steps import step

RANK = "rank"  # the dim of which of the largest


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The input's shape with K numbers along the last axis."""
    value, count = inputs[:2]
    assert value is not None and count is not None
    wanted = integers_of(node, count, "k") or ()
    if not value.shape or node.integer("axis", -1) not in (-1, len(value.shape) - 1):
        node.unsupported("takes numbers along another axis than the last")
    if node.integer("largest", 1) != 1 or node.integer("sorted", 1) != 1:
        node.unsupported("takes the smallest numbers, or any order of them")
    if any(node.outputs[1:]):
        node.unsupported("puts out where the largest numbers are")
    if len(wanted) != 1 or not 1 <= wanted[0] <= value.shape[-1]:
        node.fail(f"k {list(wanted)}; allowed one number from 1 to {value.shape[-1]}")
    return ((*value.shape[:-1], wanted[0]),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer over the elements of the input, once for each number that is taken."""
    source, out = node.inputs[0], node.outputs[0]
    dims, count = build.dims(source), build.shape(out)[-1]
    row = dims[-1]
    found = step("largest", 1, over=(row,), into=(RANK,), count=count)
    build.layer(
        node,
        "vector",
        {**build.extents(source), RANK: count},
        (LogicalAccess("in0", source, tuple(at(dim) for dim in dims)),),
        LogicalAccess("out", out, (*(at(dim) for dim in dims[:-1]), at(RANK))),
        parts=LayerParts(whole=(row, RANK)),
        steps=(found,),
    )


def reference(node: GraphNode, data: Array, count: Array) -> tuple[Array, ...]:
    """NumPy's sort, backwards."""
    return (_largest(data, int(np.ravel(count)[0])),)


def _largest(data: Array, count: int) -> Array:
    return np.asarray(-np.sort(-data, axis=-1)[..., :count])


def _over(call: FunctionCall) -> Array:
    (row,), (rank,) = call.axes("over"), call.axes("into")
    turned = np.moveaxis(np.take(call.values[0], [0], axis=rank), row, -1)
    found = np.moveaxis(_largest(turned, int(call.number("count", 1))), -1, row)
    return np.asarray(np.swapaxes(found, row, rank))


FAMILY = OperatorFamily(
    ("TopK",),
    shapes,
    reference,
    lower,
    order="rows",
    arity=2,
    steers=(1,),
    rounding=moved,
    functions={"largest": _over},
)
