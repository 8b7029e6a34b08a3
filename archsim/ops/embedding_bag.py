"""EmbeddingBag: rows of a table looked up and pooled, bag by bag: their sum, mean or maximum, or a weighted sum.

``inputs``: a table, indices and, for a sum, weights of the rows, which have the shape of all rows with 1 for each axis
that the indices do not bring in. ``attributes``: ``mode`` (sum, mean, max); ``bag``, the axes of the indices that a bag
has (the last one, unless stated); ``keepdims``, whether they stay as 1; ``indices`` and ``axis`` as GatherRows has them
(archsim/ops/gather_rows.py). ``archsim.graph.passes.embedding_bag`` makes it of a GatherRows and what reduces its rows.

As hardware: rows go where the vector unit reads, which pools them as they come, so that none is written back. Cost: as
the reduction charges (``archsim.ops.kit.reduction``); weights are the product of its multiply-add. A bag is not cut.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.functions import Function
from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ir.workload import VectorStep
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.lookups import BAG, axis_of
from archsim.ops.kit.reduction import axes_of, reduced, reduced_shape, reducing_step, reduction_rounding
from archsim.ops.kit.rounding import Sums
from archsim.ops.kit.table_rows import index_axes, looked_up, read_rows

MODES = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax"}


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """That of all rows with the axes of a bag 1 or gone."""
    found, inner, reduction = looked_up(node, inputs), index_axes(node, inputs), _reduction(node)
    if len(inputs) > 2 and inputs[2] is not None:
        wanted = tuple(size if axis in inner else 1 for axis, size in enumerate(found))
        if reduction != MODES["sum"] or inputs[2].shape != wanted:
            node.fail(f"weights of shape {list(inputs[2].shape)}; allowed {list(wanted)}, with mode sum")
    return (reduced_shape(found, _pooled(node, inner), _keeps(node)),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One vector layer over the elements of all rows, which it reads through the stream."""
    out, given = node.outputs[0], tuple(build.value(name) for name in node.inputs)
    shape, inner = looked_up(node, given), index_axes(node, given)
    dims, pooled = tuple(f"d{axis}" for axis in range(len(shape))), _pooled(node, inner)
    reads = [read_rows(node, build, dims)]
    if len(given) > 2:
        weights = tuple(at(dim) if axis in inner else HERE for axis, dim in enumerate(dims))
        reads.append(LogicalAccess("in1", node.inputs[2], weights))
    written = [HERE if axis in pooled else at(dim) for axis, dim in enumerate(dims)]
    kept = [axis for axis in range(len(dims)) if _keeps(node) or axis not in pooled]
    build.layer(
        node,
        "vector",
        dict(zip(dims, shape, strict=True)),
        tuple(reads),
        LogicalAccess("out", out, tuple(written[axis] for axis in kept)),
        parts=LayerParts(whole=tuple(dims[axis] for axis in pooled)),
        steps=(_step(node, len(given) > 2),),
    )


def reference(node: GraphNode, table: Array, indices: Array, weights: Array | None = None) -> tuple[Array, ...]:
    """NumPy's take, product and reduction."""
    return (reduced(_reduction(node), *_terms(node, table, indices, weights), _keeps(node)),)


def rounding(node: GraphNode, table: Array, indices: Array, weights: Array | None = None) -> Sums:
    """That of the terms of each element; a product is one rounding of what it adds, which the bound has room for."""
    return reduction_rounding(_reduction(node), *_terms(node, table, indices, weights), _keeps(node))


def _terms(node: GraphNode, table: Array, indices: Array, weights: Array | None) -> tuple[Array, Shape]:
    """All rows, times their weights, and the axes that are pooled."""
    axis = axis_of(node, table.ndim)
    rows = np.take(table, np.asarray(indices).astype(np.int64), axis=axis)
    terms = rows if weights is None else rows * weights
    return terms, _pooled(node, range(axis, axis + indices.ndim))


def _pooled(node: GraphNode, inner: range) -> Shape:
    """The axes of all rows that a bag has; ``inner``: those that are the indices'."""
    if not inner:
        node.fail("its indices have no axis; a bag needs one")
    return tuple(inner[axis] for axis in axes_of(node, len(inner), node.integers("bag", (-1,))))


def _reduction(node: GraphNode) -> str:
    mode = node.text("mode", "sum")
    return MODES[mode] if mode in MODES else node.fail(f"mode '{mode}'; allowed {', '.join(MODES)}")


def _step(node: GraphNode, weighted: bool) -> VectorStep:
    plain = reducing_step(_reduction(node))
    if not weighted:
        return plain
    return VectorStep((Function("multiply", ("in0", "in1")), *plain.functions), plain.passes, plain.slow)


def _keeps(node: GraphNode) -> bool:
    return bool(node.integer("keepdims", 0))


FAMILY = OperatorFamily((BAG,), shapes, reference, lower, arity=2, at_run_time=True, rounding=rounding)
