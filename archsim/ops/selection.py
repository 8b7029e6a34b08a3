"""The largest or smallest elements along an axis, and where they are: ArgMax, ArgMin, TopK.

Equal elements come in order of their index. Cost (estimated, selection round by round): 2 passes an element, a
comparison and a selection of the index that goes with it; of TopK that many for each of the k elements taken, in each
of which what was taken before does not take part. TopK is a layer for each of its outputs that is read, values (the
node's name) and indices (NAME.indices). Rows are not tiled.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape, integers_of
from archsim.ir.workload import VectorStep
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import FunctionCall
from archsim.ops.kit.rounding import moved
from archsim.ops.kit.steps import step

PASSES = 2
RANK = "rank"  # the dim of the elements taken


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The shape of the input with 1, none or k elements along the axis; of TopK twice."""
    assert inputs[0] is not None
    shape = inputs[0].shape
    axis = _axis(node, len(shape))
    if node.op != "TopK":
        kept = (1,) if node.integer("keepdims", 1) else ()
        return ((*shape[:axis], *kept, *shape[axis + 1 :]),)
    if len(inputs) < 2:
        node.fail("has 1 input; needs 2")
    counts = integers_of(node, inputs[1], "k") or (0,)
    count = counts[0]
    if len(counts) > 1:
        node.fail(f"has {len(counts)} numbers as k; allowed one")
    if not 1 <= count <= shape[axis]:
        node.fail(f"takes {count} of {shape[axis]} elements")
    return ((*shape[:axis], count, *shape[axis + 1 :]),) * 2


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer for each output."""
    dims = build.dims(node.inputs[0])
    axis = _axis(node, len(dims))
    if node.op != "TopK":
        kept = [HERE if place == axis else at(dim) for place, dim in enumerate(dims)]
        if not node.integer("keepdims", 1):
            del kept[axis]
        last, largest = node.integer("select_last_index", 0), int(node.op == "ArgMax")
        name = "last_index_of_largest" if last else "index_of_largest"
        name = name if largest else name.replace("largest", "smallest")
        written = LogicalAccess("out", node.outputs[0], tuple(kept))
        _emit(node, build, written, {}, step(name, PASSES, over=(dims[axis],)))
        return
    for output, name in zip(node.outputs, ("top", "index_of_top"), strict=False):
        if not output:
            continue
        count = build.shape(output)[axis]
        index = tuple(at(RANK if place == axis else dim) for place, dim in enumerate(dims))
        found = step(name, PASSES, over=(dims[axis],), rank=(RANK,), count=count, largest=node.integer("largest", 1))
        part = f"{node.name}.indices" if output != node.outputs[0] else ""
        _emit(node, build, LogicalAccess("out", output, index), {RANK: count}, found, part)


def _emit(
    node: GraphNode,
    build: WorkloadBuilder,
    written: LogicalAccess,
    more: dict[str, int],
    found: VectorStep,
    name: str = "",
) -> None:
    source = node.inputs[0]
    dims = build.dims(source)
    row = dims[_axis(node, len(dims))]
    read = LogicalAccess("in0", source, tuple(at(dim) for dim in dims))
    parts = LayerParts(whole=(*more, row))
    build.layer(node, "vector", build.extents(source) | more, (read,), written, parts=parts, steps=(found,), name=name)


def reference(node: GraphNode, data: Array, *count: Array) -> tuple[Array, ...]:
    """A stable sort along the axis."""
    axis = _axis(node, data.ndim)
    rows = np.moveaxis(data, axis, -1)
    if node.op != "TopK":
        last = bool(node.integer("select_last_index", 0))
        index = _first(rows, node.op == "ArgMax", last)
        found = np.moveaxis(index[..., None], -1, axis) if node.integer("keepdims", 1) else index
        return (found.astype(np.int64),)
    places = _order(rows, bool(node.integer("largest", 1)))[..., : int(np.ravel(count[0])[0])]
    values = np.take_along_axis(rows, places, -1)
    return (np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis).astype(np.int64))


def _order(rows: Array, largest: bool) -> Array:
    """Indices from the largest or smallest element on, equal ones in order."""
    keys = rows.astype(np.float64) if rows.dtype.kind == "f" else rows.astype(np.int64)
    return np.argsort(-keys if largest else keys, axis=-1, kind="stable")


def _first(rows: Array, largest: bool, last: bool) -> Array:
    """The index of the largest or smallest element, of equal ones the first or last."""
    turned = rows[..., ::-1] if last else rows
    found = np.argmax(turned, -1) if largest else np.argmin(turned, -1)
    return np.asarray(rows.shape[-1] - 1 - found if last else found)


def _axis(node: GraphNode, rank: int) -> int:
    axis = node.integer("axis", -1 if node.op == "TopK" else 0)
    if not -rank <= axis < rank:
        node.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
    return axis % rank


def _index(call: FunctionCall, largest: bool, last: bool) -> Array:
    axes = call.axes("over")
    rows, ends = _rows(call.values[0], axes)
    return _back(_first(rows, largest, last)[..., None].astype(np.float64), axes, ends)


def _top(call: FunctionCall, indices: bool) -> Array:
    axes, (rank,) = call.axes("over"), call.axes("rank")
    rows, ends = _rows(call.values[0], axes)
    places = _order(rows, bool(call.number("largest", 1)))[..., : int(call.number("count", 1))]
    found = places.astype(np.float64) if indices else np.take_along_axis(rows, places, -1)
    return _back(np.swapaxes(found, rank - sum(axis < rank for axis in axes), -1), axes, ends)


def _rows(values: Array, axes: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """Values with ``axes`` joined into one last axis, and where those axes have gone."""
    ends = tuple(range(-len(axes), 0))
    apart = np.moveaxis(values, axes, ends)
    return apart.reshape(*apart.shape[: apart.ndim - len(axes)], -1), ends


def _back(found: Array, axes: tuple[int, ...], ends: tuple[int, ...]) -> Array:
    """One element along ``axes``, which are back in their places."""
    return np.asarray(np.moveaxis(found.reshape(*found.shape[:-1], *[1] * len(axes)), ends, axes))


FAMILY = OperatorFamily(
    ("ArgMax", "ArgMin", "TopK"),
    shapes,
    reference,
    lower,
    order="same",
    steers=(1,),
    rounding=moved,
    functions={
        "index_of_largest": lambda call: _index(call, True, False),
        "index_of_smallest": lambda call: _index(call, False, False),
        "last_index_of_largest": lambda call: _index(call, True, True),
        "last_index_of_smallest": lambda call: _index(call, False, True),
        "top": lambda call: _top(call, False),
        "index_of_top": lambda call: _top(call, True),
    },
)
