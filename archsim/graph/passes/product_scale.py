"""Moves one number that scales an operand of a product of two activations behind the product, where it costs nothing.

Exporters scale queries and keys each by the root of what scales attention, and keys behind their expansion over the
heads that share them, where that is a copy for every head.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archsim.graph.passes.manager import PassOptions
from archsim.graph.wiring import Wiring, replaced
from archsim.ir.graph import Graph, GraphNode, GraphValue

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with such scales behind their products."""
    wiring = Wiring(graph)
    values, found, behind = dict(graph.values), dict[str, GraphNode](), list[GraphNode]()
    for node in graph.nodes:
        operands, scale = _unscaled(wiring, node) if node.op == "MatMul" else (node.inputs, 1.0)
        if operands == node.inputs:
            continue
        out, plain, factor = node.outputs[0], f"{node.outputs[0]}.unscaled", f"{node.outputs[0]}.scale"
        values[plain] = replace(values[out], name=plain)
        values[factor] = GraphValue(factor, (), "constant", "float32", np.asarray(scale, np.float32))
        found[node.name] = replace(node, inputs=operands, outputs=(plain,))
        behind.append(GraphNode(f"{node.name}.scale", "Mul", (plain, factor), node.outputs))
    return replaced(replace(graph, nodes=(*graph.nodes, *behind), values=values), found) if found else graph


def _unscaled(wiring: Wiring, product: GraphNode) -> tuple[tuple[str, ...], float]:
    """The operands of a product without numbers that scale them, and these multiplied."""
    if any(wiring.graph.values[name].constant for name in product.inputs):
        return product.inputs, 1.0
    operands, scale = list[str](), 1.0
    for name in product.inputs:
        plain, factor = _scaled(wiring, name)
        operands.append(plain)
        scale *= factor
    return tuple(operands), scale


def _scaled(wiring: Wiring, name: str) -> tuple[str, float]:
    """(x, c), where a value is c * x or x / (1 / c) and x is as large."""
    node = wiring.maker(name, "Mul", "Div")
    for plain, other in wiring.sides(node) if node is not None else ():
        factor = wiring.number(other)
        if node is None or factor is None or wiring.graph.shape(plain) != wiring.graph.shape(name):
            continue
        if node.op == "Mul":
            return plain, factor
        if other == node.inputs[1] and factor != 0:
            return plain, 1 / factor
    return name, 1.0
