"""GatherRows: rows of a table looked up by indices that only the run knows, as an access pattern says (embedding).

``attributes``: ``indices``, the pattern as text (``zipf(exponent=1.05, seed=3)``) or as a tuple of row numbers;
``axis`` of the table. Front ends write it, or ``archsim.graph.passes.lookups`` makes it of a Gather that is no view.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.lookups import ROWS, axis_of
from archsim.ops.kit.rounding import moved
from archsim.ops.kit.table_rows import looked_up, read_rows


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The table's shape with ``axis`` replaced by the shape of the indices."""
    if len(inputs) != 2:
        node.fail("needs a table and indices")
    return (looked_up(node, inputs),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One copy layer: each output row is the table's row that the stream says."""
    out = node.outputs[0]
    dims = build.dims(out)
    write = LogicalAccess("out", out, tuple(at(dim) for dim in dims))
    build.layer(node, "copy", build.extents(out), (read_rows(node, build, dims),), write, parts=LayerParts(free=dims))


def reference(node: GraphNode, table: Array, indices: Array) -> tuple[Array, ...]:
    """NumPy's take."""
    return (np.take(table, np.asarray(indices).astype(np.int64), axis=axis_of(node, table.ndim)),)


FAMILY = OperatorFamily((ROWS,), shapes, reference, lower, arity=2, at_run_time=True, rounding=moved)
