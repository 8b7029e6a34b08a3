"""Gives weights that a file stores in blocks along the reduction of a product the number format of these blocks.

Such weights are constants that DequantizeLinear makes of elements of 4 or 8 bits, with a scale for each ``block_size``
of them along one axis, and that products alone read. Others are timed as ``alias`` says.
"""

from __future__ import annotations

from dataclasses import replace

from archsim.facts.number_formats import ELEMENT_BITS, MOST_BLOCK, ElementFormat
from archsim.graph.passes.manager import PassOptions
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.quantize_linear import SCALE_TYPES

AFTER = ("matmul_nbits",)
BEFORE = ("alias",)

WEIGHTS = 1  # input of a product


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with formats of such weights."""
    made = {node.outputs[0]: node for node in graph.folded if _is_in_blocks(graph, node)}
    reads = [(node, place, name) for node in graph.nodes for place, name in enumerate(node.inputs) if name in made]
    others = {name for node, place, name in reads if _reduced(node, place) != _axis(made[name])} | {*graph.outputs}
    formats = {name: _format(graph, made[name]) for _, _, name in reads if name not in others}
    if not formats:
        return graph
    named = {name: replace(graph.values[name], dtype="float32", format=str(text)) for name, text in formats.items()}
    return replace(graph, values={**graph.values, **named})


def _is_in_blocks(graph: Graph, node: GraphNode) -> bool:
    """Whether a node makes a matrix of elements in blocks that a format has."""
    if node.op != "DequantizeLinear" or not 2 <= node.integer("block_size", 0) <= MOST_BLOCK:
        return False
    data, scale = (graph.values[name] for name in node.inputs[:2])
    return len(data.shape) == 2 and ELEMENT_BITS.get(data.dtype, 0) in (4, 8) and scale.dtype in SCALE_TYPES


def _axis(node: GraphNode) -> int:
    return node.integer("axis", 1) % 2


def _reduced(node: GraphNode, place: int) -> int | None:
    """The axis of an input along which a product adds up; None where it is no matrix of weights."""
    if place != WEIGHTS or node.op not in ("MatMul", "Gemm"):
        return None
    return node.integer("transB", 0)


def _format(graph: Graph, node: GraphNode) -> ElementFormat:
    data, scale = (graph.values[name] for name in node.inputs[:2])
    has_zero = any(node.inputs[2:])
    return ElementFormat(data.dtype, node.integer("block_size", 0), SCALE_TYPES[scale.dtype], has_zero)
