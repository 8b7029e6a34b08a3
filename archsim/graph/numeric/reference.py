"""The model in plain NumPy, node by node as its graph says: the reference that knows nothing of tiles or memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from archsim.graph.numeric.constants import Constants, exact_indices
from archsim.graph.numeric.quantise import Quantised
from archsim.ir.graph import Array, Graph, GraphNode, ValueFormat
from archsim.ops.kit.catalogue import family
from archsim.ops.kit.folding import affine_of, chain_of, drain_scale
from archsim.ops.kit.lookups import LOOKUPS


def real(
    graph: Graph,
    constants: Constants,
    inputs: Mapping[str, Array],
    as_stated: bool = False,
    known: Mapping[str, Array] = MappingProxyType({}),
) -> dict[str, Array]:
    """Every value of the graph by name, each node computed by itself (nothing folded), in double precision.

    ``as_stated``: rounded to elements where the file says so, which calibration needs and real numbers have no use for.
    ``known``: values that are taken as they are.
    """
    found: dict[str, Array] = {}
    formats = graph.formats if as_stated else {}

    def keep(name: str, array: Array) -> None:
        found[name] = _as_stated(array, formats[name]) if name in formats else np.asarray(array, np.float64)

    for name, array in inputs.items():
        keep(name, array)
    for node in graph.nodes:
        for inner in apart_of(graph, node):
            arguments = [_value(graph, constants, found, name) if name else None for name in inner.inputs]
            with np.errstate(all="ignore"):
                results = family(inner).reference(inner, *arguments)
            for name, result in zip(inner.outputs, results, strict=False):
                keep(name, known.get(name, result))
    return found


def _as_stated(array: Array, stated: ValueFormat) -> Array:
    """The numbers that the file's own elements come to stand for."""
    limits = np.iinfo(stated.dtype)
    elements = np.clip(np.rint(array / stated.scale) + stated.zero, limits.min, limits.max)
    return np.asarray((elements - stated.zero) * stated.scale)


def apart_of(graph: Graph, node: GraphNode) -> tuple[GraphNode, ...]:
    """A node and what is fused into it, each with its own output: the one that the next of them reads."""
    if not node.fused:
        return (node,)
    return (replace(node, outputs=(graph.carried(node.fused[0]),)), *node.fused)


def _value(graph: Graph, constants: Constants, found: Mapping[str, Array], name: str) -> Array:
    if name in found:
        return found[name]
    held = constants[name]
    return held.astype(np.float64) if held.dtype.kind == "f" else held


def quantised(graph: Graph, numbers: Quantised, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Every stored value of the graph by name as the quantised model computes it: real numbers that elements stand for.

    Factors and operands are quantised; products add up in whole numbers, in two's complement where they overflow; a
    result is scaled, passed through its activation, rounded half to even to the elements of its tensor and clamped.
    Indices of look-ups are no elements.
    """
    found = {name: numbers.rounded(name, array) for name, array in inputs.items()}
    exact = exact_indices(graph, inputs)
    for node in graph.nodes:
        indices = {name: exact[name] for name in node.inputs[1:2] if node.op in LOOKUPS and name in exact}
        found.update(_stored(graph, numbers, found | indices, node))
    return found


def apart(graph: Graph, numbers: Quantised, known: Mapping[str, Array]) -> dict[str, Array]:
    """Every result as the quantised model computes it from what ``known`` says of its node's inputs.

    Nodes with inputs that are not known, or with constants in elements that the file does not state, are left out.
    """
    inputs = {name: numbers.rounded(name, np.asarray(array, np.float64)) for name, array in known.items()}
    found: dict[str, Array] = {}
    for node in graph.nodes:
        read = [name for name in (*node.inputs, *graph.beside(node)) if name]
        stated = all(numbers.is_stated(node, name) for name in read)
        given = all(name in inputs or graph.values[name].constant for name in read)
        if stated and given and affine_of(graph, node) is None:
            found.update(_stored(graph, numbers, inputs, node))
    return found


def _stored(graph: Graph, numbers: Quantised, found: Mapping[str, Array], node: GraphNode) -> dict[str, Array]:
    """A node's results in the elements of their tensors."""
    with np.errstate(all="ignore"):
        results = _node(graph, numbers, found, node)
    pairs = zip(node.outputs, results, strict=False)
    return {name: numbers.rounded(name, result) for name, result in pairs if name}


def _node(graph: Graph, numbers: Quantised, found: Mapping[str, Array], node: GraphNode) -> tuple[Array, ...]:
    data = [_operand(graph, numbers, found, node, name) for name in node.inputs]
    if affine_of(graph, node) is not None:
        return (_activated(graph, numbers, found, node, _affine(graph, numbers, found, node)),)
    if not numbers.is_product(node):
        results = family(node).reference(node, *data)
        return tuple(_activated(graph, numbers, found, node, each) for each in results) if node.fused else results
    plain = replace(node, attributes={k: v for k, v in node.attributes.items() if k not in family(node).factors})
    factors = numbers.factors(node)
    units = [factor.units(operand) for factor, operand in zip(factors, data, strict=False) if operand is not None]
    total = np.asarray(family(node).reference(plain, *units)[0])
    total = numbers.sums(total + numbers.bias(node, total.ndim, found)) * (factors[0].scale * factors[1].scale)
    return (_activated(graph, numbers, found, node, total * drain_scale(graph, node)),)


def _affine(graph: Graph, numbers: Quantised, found: Mapping[str, Array], node: GraphNode) -> Array:
    """x * scale + shift, each as the layer has it: a quantised operand, or a number."""
    chain = chain_of(graph, node)
    (data,) = (found[name] for name in node.inputs if name in found)
    shape = tuple(-1 if axis == chain.axis else 1 for axis in range(chain.rank))
    scale, shift = numbers.affine(node, chain)
    return np.asarray(data * scale.reshape(shape) + shift.reshape(shape))


def _activated(graph: Graph, numbers: Quantised, found: Mapping[str, Array], node: GraphNode, data: Array) -> Array:
    """The sum or gate, and the activation, that ride on a result; constant scales and shifts are folded already."""

    def operand(name: str) -> Array | None:
        if not name:
            return None
        return numbers.exact(name) if graph.values[name].constant else found[name]

    for other in node.fused:
        if affine_of(graph, other) is None:
            data = np.asarray(family(other).reference(other, data, *map(operand, other.inputs[1:]))[0])
    return data


def _operand(graph: Graph, numbers: Quantised, found: Mapping[str, Array], node: GraphNode, name: str) -> Array | None:
    if not name:
        return None
    return found[name] if name in found else numbers.operand(node, name)
