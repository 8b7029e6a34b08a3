"""Moves one number that scales an operand of a product of two activations behind the product, where it costs nothing.

Exporters scale queries and keys each by the root of what scales attention, and keys behind their expansion over the
heads that share them, where that is a copy for every head.
"""

from __future__ import annotations

import numpy as np

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.graph.producers import Producers
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.kit.visible import VISIBLE

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with such scales behind their products."""
    producers, pieces = Producers(graph), Pieces(graph)
    for node in graph.nodes:
        operands, scale = _unscaled(producers, node) if node.op == "MatMul" else (node.inputs, 1.0)
        if operands == node.inputs or not _is_plain(scale):
            continue
        out = node.outputs[0]
        pieces.gone.add(node.name)
        unscaled, factor = pieces.free(f"{out}.unscaled"), pieces.constant(f"{out}.scale", scale, "float32")
        plain = pieces.add("MatMul", node.name, *operands, output=unscaled, **node.attributes)
        seen = {key: value for key, value in node.attributes.items() if key == VISIBLE}
        pieces.add("Mul", f"{node.name}.scale", plain, factor, output=out, **seen)
    return pieces.done()


def _is_plain(scale: float) -> bool:
    """Whether single precision holds a number with all its digits."""
    with np.errstate(over="ignore"):
        held = float(np.float32(scale))
    return np.isfinite(held) and abs(held) >= float(np.finfo(np.float32).tiny)


def _unscaled(producers: Producers, product: GraphNode) -> tuple[tuple[str, ...], float]:
    """The operands of a product without numbers that scale them, and these multiplied."""
    if any(producers.graph.values[name].constant for name in product.inputs):
        return product.inputs, 1.0
    operands, scale = list[str](), 1.0
    for name in product.inputs:
        plain, factor = _scaled(producers, name)
        operands.append(plain)
        scale *= factor
    return tuple(operands), scale


def _scaled(producers: Producers, name: str) -> tuple[str, float]:
    """(x, c), where a value is c * x or x / (1 / c), read by nothing else, and x is as large."""
    node = producers.maker(name, "Mul", "Div")
    if node is None or len(producers.readers(node.outputs[0])) > 1 or node.outputs[0] in producers.graph.outputs:
        return name, 1.0
    for plain, other in producers.sides(node):
        factor = producers.number(other)
        if factor is None or producers.graph.shape(plain) != producers.graph.shape(name):
            continue
        if node.op == "Mul":
            return plain, factor
        if other == node.inputs[1] and factor != 0:
            return plain, 1 / factor
    return name, 1.0
