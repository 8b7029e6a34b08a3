"""Fully connected layer: out[m, n] = alpha * sum over k of a[m, k] * b[k, n] + beta * c, either operand transposed.

alpha and beta fold into the requantisation of the drain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from archsim.ir.graph import Array, Graph, GraphNode, Inputs, Shape
from archsim.ops.kit.access import HERE, LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.product import bias_of, emit_matmul
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth

T = TypeVar("T")


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """(M, K) x (K, N) to (M, N), after the transpositions asked for."""
    a, b = inputs[0], inputs[1]
    if a is None or b is None or len(a.shape) != 2 or len(b.shape) != 2:
        node.fail("needs two matrices")
    m, k = _turned(a.shape, node.integer("transA", 0))
    k_b, n = _turned(b.shape, node.integer("transB", 0))
    if k != k_b:
        node.fail(f"inner dimensions {k} and {k_b} differ (shapes {list(a.shape)} and {list(b.shape)})")
    return ((m, n),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One matmul layer; a flattened image is read in place, its reduction split in channel, row and column."""
    a, b, out = node.inputs[0], node.inputs[1], node.outputs[0]
    m, n = build.shape(out)
    k = _turned(build.shape(a), node.integer("transA", 0))[1]
    rows = _turned((at("m"), at("k")), node.integer("transA", 0))
    columns = _turned((at("k"), at("n")), node.integer("transB", 0))
    emit_matmul(
        node,
        build,
        {"m": m, "n": n, "k": k},
        LogicalAccess("a", a, rows),
        LogicalAccess("b", b, columns),
        _bias(node, build, n),
        LogicalAccess("out", out, (at("m"), at("n"))),
    )


def reference(node: GraphNode, a: Array, b: Array, c: Array | None = None) -> tuple[Array, ...]:
    """NumPy matmul."""
    a = a.T if node.integer("transA", 0) else a
    b = b.T if node.integer("transB", 0) else b
    result = node.number("alpha", 1.0) * (a @ b)
    if c is not None:
        result = result + node.number("beta", 1.0) * c
    return (np.asarray(result, a.dtype),)


def rounding(node: GraphNode, a: Array, b: Array, c: Array | None = None) -> Sums:
    """The same sum of magnitudes: k products and the third operand."""
    factors = {key: abs(node.number(key, 1.0)) for key in ("alpha", "beta")}
    plain = replace(node, attributes={**node.attributes, **factors})
    (magnitude,) = reference(plain, np.abs(a), np.abs(b), None if c is None else np.abs(c))
    terms = _turned(a.shape, node.integer("transA", 0))[1]
    return Sums(magnitude, growth(terms) + EPILOGUE, is_linear=True)


def channel(node: GraphNode, graph: Graph) -> int:
    """Constant scales and shifts per column fold into weights and bias."""
    return 1


def _bias(node: GraphNode, build: WorkloadBuilder, columns: int) -> LogicalAccess | None:
    """The third input, broadcast to (m, n) where it is smaller."""
    found = bias_of(node, build, 2, columns, at("n"))
    if found is None:
        return None
    shape = build.shape(found.value)
    index = [HERE if size == 1 else at(dim) for size, dim in zip(shape, ("m", "n")[2 - len(shape) :], strict=True)]
    return LogicalAccess("bias", found.value, tuple(index))


def _turned(pair: tuple[T, ...], transposed: int) -> tuple[T, T]:
    first, second = pair
    return (second, first) if transposed else (first, second)


FAMILY = OperatorFamily(
    ("Gemm",),
    shapes,
    reference,
    lower,
    channel=channel,
    activates=True,
    combines=True,
    arity=2,
    factors=("alpha", "beta"),
    rounding=rounding,
)
