"""Products of two tensors written as index terms: every dim by name, as in ``b h m d, b h n d -> b h m n``.

``terms``: the index names of each operand and, last, of the result. The ONNX form gives ``equation`` instead, whose
names are single letters.
"""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.ir.graph import Array, Graph, GraphNode, Inputs, Shape
from archsim.ops.kit.access import LogicalAccess, at
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.product import bias_of, emit_matmul
from archsim.ops.kit.rounding import EPILOGUE, Sums, growth

EinsumTerms = tuple[tuple[str, ...], ...]


def terms_of(node: GraphNode) -> EinsumTerms:
    """Index names per operand and of the result."""
    given = node.attributes.get("terms")
    if isinstance(given, tuple):
        return tuple(tuple(str(name) for name in term) for term in given)
    equation = node.text("equation", "").replace(" ", "")
    if "->" not in equation or "." in equation:
        node.unsupported(f"equation '{equation}'; write it out with '->' and without '...'")
    left, _, right = equation.partition("->")
    return tuple(tuple(term) for term in (*left.split(","), right))


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The extents of the result's index names."""
    terms = terms_of(node)
    if len(terms) != 3 or len(inputs) != 2:
        node.unsupported(f"einsum of {len(inputs)} operands; split it into products of two")
    extents = _extents(node, terms, tuple(value.shape if value is not None else () for value in inputs))
    for name in sorted(set(terms[0]) ^ set(terms[1])):
        if name not in terms[2]:
            node.unsupported(f"sums '{name}' of one operand alone; sum it before")
    return (tuple(extents[name] for name in terms[2]),)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """One matmul layer whose dims are the index names."""
    terms = terms_of(node)
    extents = _extents(node, terms, tuple(build.shape(name) for name in node.inputs[:2]))
    out = node.outputs[0]
    width, last = (build.shape(out)[-1], at(terms[2][-1])) if terms[2] else (1, at())
    emit_matmul(
        node,
        build,
        extents,
        LogicalAccess("a", node.inputs[0], tuple(at(name) for name in terms[0])),
        LogicalAccess("b", node.inputs[1], tuple(at(name) for name in terms[1])),
        bias_of(node, build, 2, width, last),
        LogicalAccess("out", out, tuple(at(name) for name in terms[2])),
    )


def reference(node: GraphNode, *operands: Array) -> tuple[Array, ...]:
    """NumPy einsum."""
    terms = terms_of(node)
    numbers = {name: i for i, name in enumerate(dict.fromkeys(name for term in terms for name in term))}
    arguments: list[object] = []
    for operand, term in zip(operands, terms[:-1], strict=True):
        arguments += [operand, [numbers[name] for name in term]]
    result = np.einsum(*arguments, [numbers[name] for name in terms[-1]])  # type: ignore[call-overload]
    return (np.asarray(result),)


def rounding(node: GraphNode, *operands: Array) -> Sums:
    """The same sum of magnitudes: a product for each point of the names that the result lacks."""
    terms = terms_of(node)
    extents = _extents(node, terms, tuple(operand.shape for operand in operands))
    (magnitude,) = reference(node, *(np.abs(operand) for operand in operands))
    summed = prod(size for name, size in extents.items() if name not in terms[-1])
    return Sums(magnitude, growth(summed) + EPILOGUE, is_linear=True)


def channel(node: GraphNode, graph: Graph) -> int:
    """Constant scales and shifts along the last axis fold into weights and bias."""
    return len(graph.shape(node.outputs[0])) - 1


def _extents(node: GraphNode, terms: EinsumTerms, operands: tuple[Shape, ...]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for shape, term in zip(operands, terms, strict=False):
        if len(shape) != len(term) or len(set(term)) != len(term):
            node.fail(f"term '{' '.join(term)}' does not index shape {list(shape)} once per axis")
        for name, size in zip(term, shape, strict=True):
            if extents.setdefault(name, size) != size:
                node.fail(f"index '{name}' has extents {extents[name]} and {size}")
    missing = [name for name in terms[-1] if name not in extents]
    if missing:
        node.fail(f"result index '{missing[0]}' is in no operand")
    return extents


FAMILY = OperatorFamily(
    ("Einsum",), shapes, reference, lower, channel=channel, activates=True, combines=True, arity=2, rounding=rounding
)
