"""Anything that multiplies and accumulates: the part each dim plays follows from which operands it indexes.

Dims of both inputs and the output are batch; of ``a`` and the output rows (m); of ``b`` and the output columns (n);
dims that the output lacks are the reduction (k). A constant operand is always ``b``: it is packed with the reduction
innermost, in the order in which ``a`` lies in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from archsim.ir.graph import GraphNode
from archsim.ir.workload import Axis
from archsim.ops.kit import folding
from archsim.ops.kit.access import LogicalAccess
from archsim.ops.kit.builder import LayerParts, WorkloadBuilder
from archsim.ops.kit.catalogue import family
from archsim.ops.kit.steps import requantise


def emit_matmul(
    node: GraphNode,
    build: WorkloadBuilder,
    extents: Mapping[str, int],
    a: LogicalAccess,
    b: LogicalAccess,
    bias: LogicalAccess | None,
    out: LogicalAccess,
) -> None:
    """One matmul layer; its drain requantises, takes in a fused sum or gate, and runs the fused activation."""
    if build.value(a.value).constant:
        a, b = replace(b, operand="a"), replace(a, operand="b")
    if build.value(a.value).constant:
        node.unsupported("both operands are constants that were not folded")
    if folding.rescales(build.graph, node):
        if bias is not None and not build.value(bias.value).constant:
            node.unsupported("adds a bias computed at run time to a product that it scales")
        column = _column(node, build, out)
        if build.value(b.value).constant:
            b = replace(b, part="weights", channel=_place(column, b))
        bias = replace(bias, part="bias", channel=_place(column, bias)) if bias is not None else None
    dims = dict(extents)
    parts = _parts(dims, _dims(a), _dims(b), _dims(out))
    reads = [a, b] if bias is None else [a, b, bias]
    reads += [LogicalAccess("epilogue", name, out.index) for name in build.graph.beside(node)]
    requantised = requantise(folding.drain_scale(build.graph, node), beside=bool(build.graph.beside(node)))
    steps = build.steps(node, requantised)
    build.layer(node, "matmul", dims, tuple(reads), out, parts=parts, steps=steps)


def bias_of(node: GraphNode, build: WorkloadBuilder, index: int, columns: int, column: Axis) -> LogicalAccess | None:
    """The bias operand: input ``index`` if there is one, else a folded constant if a fused shift needs one."""
    if len(node.inputs) > index and node.inputs[index]:
        return LogicalAccess("bias", node.inputs[index], (column,))
    if build.folded_shift(node):
        return LogicalAccess("bias", build.constant(f"{node.name}.bias", (columns,)), (column,), "bias")
    return None


def _column(node: GraphNode, build: WorkloadBuilder, out: LogicalAccess) -> Axis | None:
    """How the output's channel axis is indexed."""
    channel = family(node).channel
    axis = channel(node, build.graph) if channel is not None else None
    return out.index[axis] if axis is not None and axis < len(out.index) else None


def _place(column: Axis | None, access: LogicalAccess) -> int | None:
    """The axis of a constant that runs along the output's channels."""
    return access.index.index(column) if column is not None and column in access.index else None


def _parts(dims: dict[str, int], a: set[str], b: set[str], out: set[str]) -> LayerParts:
    """Classify every dim; rows and columns get a dim of extent 1 where there would be none."""
    batch = tuple(dim for dim in dims if dim in a and dim in b and dim in out)
    n = tuple(dim for dim in dims if dim in b and dim in out and dim not in a)
    k = tuple(dim for dim in dims if dim not in out)
    m = tuple(dim for dim in dims if dim not in (*batch, *n, *k))
    return LayerParts(
        m or (_extra(dims, "m"),),
        n or (_extra(dims, "n"),),
        k or (_extra(dims, "k"),),
        batch,
        free=tuple(dims),
    )


def _extra(dims: dict[str, int], name: str) -> str:
    while name in dims:
        name += "_"
    dims[name] = 1
    return name


def _dims(access: LogicalAccess) -> set[str]:
    return {dim for axis in access.index for dim, _ in axis.terms}
