"""GatherRows: rows of a table looked up by indices that only the run knows, as an access pattern says (embedding).

``attributes``: ``indices``, the pattern as text (``zipf(exponent=1.05, seed=3)``) or as a tuple of row numbers;
``axis`` of the table. Front ends write it, or ``archsim.graph.passes.lookups`` makes it of a Gather that is no view.
Entry n of the stream is element n of the indices, row-major; the indices themselves are no traffic of their own (the
descriptors of the chip's DMA engines carry them, ``row_setup``).
"""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ir.workload import Axis
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.lookups import axis_of, pattern
from archsim.ops.kit.rounding import moved


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The table's shape with ``axis`` replaced by the shape of the indices."""
    if len(inputs) != 2 or inputs[0] is None or inputs[1] is None:
        node.fail("needs a table and indices")
    shape = inputs[0].shape
    axis = axis_of(node, len(shape))
    return ((*shape[:axis], *inputs[1].shape, *shape[axis + 1 :]),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One copy layer: each output row is the table's row that the stream says."""
    table, indices = (build.value(name) for name in node.inputs)
    out = node.outputs[0]
    axis, dims = axis_of(node, len(table.shape)), build.dims(out)
    stream, rows, count = pattern(node), table.shape[axis], prod(indices.shape)
    if stream.kind == "trace" and (len(stream.trace) < count or not 0 <= max(stream.trace) < rows):
        most = max(stream.trace)
        node.fail(f"its trace has {len(stream.trace)} rows up to {most}; it looks {count} up in a table of {rows}")
    inner = range(axis, axis + len(indices.shape))
    steps = [prod(indices.shape[position - axis + 1 :]) for position in inner]
    entry = at(*((dims[position], step) for position, step in zip(inner, steps, strict=True)))
    index: tuple[Axis, ...] = (*map(at, dims[:axis]), entry, *map(at, dims[axis + len(indices.shape) :]))
    read = LogicalAccess("in0", node.inputs[0], index, lookup=stream, axis=axis)
    write = LogicalAccess("out", out, tuple(at(dim) for dim in dims))
    build.layer(node, "copy", build.extents(out), (read,), write, parts=LayerParts(free=dims))


def reference(node: GraphNode, table: Array, indices: Array) -> tuple[Array, ...]:
    """NumPy's take."""
    return (np.take(table, np.asarray(indices).astype(np.int64), axis=axis_of(node, table.ndim)),)


FAMILY = OperatorFamily(("GatherRows",), shapes, reference, lower, arity=2, at_run_time=True, rounding=moved)
