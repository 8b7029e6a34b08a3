"""Matrix product over the last two axes, the axes before them broadcast (NumPy's matmul).

Leading axes that only one operand has become rows or columns; axes of both are batch (attention heads).
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, Graph, GraphNode, Inputs, Shape
from archsim.ir.workload import Axis
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.product import bias_of, emit_matmul
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """(..., M, K) x (..., K, N) to (..., M, N); a vector operand has no M or N."""
    a, b = inputs[0], inputs[1]
    if a is None or b is None or not a.shape or not b.shape:
        node.fail("needs two operands of rank 1 or more")
    inner = b.shape[-2] if len(b.shape) > 1 else b.shape[0]
    if a.shape[-1] != inner:
        node.fail(f"inner dimensions {a.shape[-1]} and {inner} differ (shapes {list(a.shape)} and {list(b.shape)})")
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) if len(b.shape) > 2 else a.shape[:-2]
    except ValueError:
        node.fail(f"leading axes of {list(a.shape)} and {list(b.shape)} do not broadcast")
    return ((*batch, *a.shape[-2:-1], *(b.shape[-1:] if len(b.shape) > 1 else ())),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One matmul layer with dims b0.. (leading axes), m, n, k."""
    a, b, out = node.inputs[0], node.inputs[1], node.outputs[0]
    shape_a, shape_b = build.shape(a), build.shape(b)
    rows = ("m",) if len(shape_a) > 1 else ()
    columns = ("n",) if len(shape_b) > 1 else ()
    leading = build.shape(out)[: len(build.shape(out)) - len(rows) - len(columns)]
    batch = tuple(f"b{axis}" for axis in range(len(leading)))
    extents = dict(zip((*batch, *rows, *columns), build.shape(out), strict=True))
    extents["k"] = shape_a[-1]
    last = at("n") if columns else at("m")
    width = build.shape(out)[-1] if build.shape(out) else 1
    emit_matmul(
        node,
        build,
        extents,
        LogicalAccess("a", a, _index(shape_a, (*batch, *rows, "k"), extents)),
        LogicalAccess("b", b, _index(shape_b, (*batch, "k", *columns), extents)),
        bias_of(node, build, 2, width, last),
        LogicalAccess("out", out, tuple(at(dim) for dim in (*batch, *rows, *columns))),
    )


def reference(node: GraphNode, a: Array, b: Array) -> tuple[Array, ...]:
    """NumPy matmul."""
    return (np.asarray(np.matmul(a, b)),)


def rounding(node: GraphNode, a: Array, b: Array) -> Sums:
    """The same sum of magnitudes: k products."""
    return Sums(np.matmul(np.abs(a), np.abs(b)), growth(a.shape[-1]) + EPILOGUE, is_linear=True)


def channel(node: GraphNode, graph: Graph) -> int:
    """Constant scales and shifts along the last axis fold into weights and bias."""
    return len(graph.shape(node.outputs[0])) - 1


def _index(shape: Shape, dims: tuple[str, ...], extents: dict[str, int]) -> tuple[Axis, ...]:
    """One axis per dim, aligned at the end; an axis of extent 1 under a larger dim is broadcast."""
    aligned = dims[len(dims) - len(shape) :]
    return tuple(HERE if size == 1 < extents[dim] else at(dim) for size, dim in zip(shape, aligned, strict=True))


FAMILY = OperatorFamily(
    ("MatMul",), shapes, reference, lower, channel=channel, activates=True, combines=True, arity=2, rounding=rounding
)
