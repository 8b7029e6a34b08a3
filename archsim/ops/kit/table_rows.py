"""Rows of a table as a layer reads them: their shape, and the operand whose index goes through the stream.

The indices are no traffic of their own: the descriptors of the chip's DMA engines carry them (``row_setup``).
"""

from __future__ import annotations

from math import prod

from archsim.ir.graph import GraphNode, Inputs, Shape
from archsim.ir.workload import Axis
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.lookups import axis_of, pattern


def looked_up(node: GraphNode, inputs: Inputs) -> Shape:
    """The shape of all rows: the table's (the first input) with ``axis`` replaced by the shape of the indices (the
    second).
    """
    if len(inputs) < 2 or inputs[0] is None or inputs[1] is None:
        node.fail("needs a table and indices")
    shape = inputs[0].shape
    axis = axis_of(node, len(shape))
    return (*shape[:axis], *inputs[1].shape, *shape[axis + 1 :])


def index_axes(node: GraphNode, inputs: Inputs) -> range:
    """Which axes of all rows are those of the indices."""
    assert inputs[0] is not None and inputs[1] is not None
    axis = axis_of(node, len(inputs[0].shape))
    return range(axis, axis + len(inputs[1].shape))


def read_rows(node: GraphNode, build: WorkloadBuilder, dims: tuple[str, ...]) -> LogicalAccess:
    """Operand ``in0``: all rows, one of ``dims`` for each axis of ``looked_up``. Entry n of the stream is element n of
    the indices, row-major. Raises ModelError for a trace that is too short or leaves the table.
    """
    table, indices = (build.value(name) for name in node.inputs[:2])
    axis, inner = axis_of(node, len(table.shape)), index_axes(node, (table, indices))
    stream, rows, count = pattern(node), table.shape[axis], prod(indices.shape)
    if stream.kind == "trace" and (len(stream.trace) < count or not 0 <= max(stream.trace) < rows):
        most = max(stream.trace)
        node.fail(f"its trace has {len(stream.trace)} rows up to {most}; it looks {count} up in a table of {rows}")
    steps = [prod(indices.shape[position - axis + 1 :]) for position in inner]
    entry = at(*((dims[position], step) for position, step in zip(inner, steps, strict=True)))
    index: tuple[Axis, ...] = (*map(at, dims[:axis]), entry, *map(at, dims[inner.stop :]))
    return LogicalAccess("in0", node.inputs[0], index, lookup=stream, axis=axis)
