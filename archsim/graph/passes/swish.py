"""Puts x * sigmoid(a * x) together: Swish, also called SiLU, which with a = 1.702 stands for GELU in some models."""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.wiring import Wiring, replaced
from archsim.ir.graph import Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Swish for each product of a value and its own sigmoid."""
    wiring = Wiring(graph)
    found = {node.name: swish for node in graph.nodes if (swish := _swish(wiring, node)) is not None}
    return replaced(graph, found)


def _swish(wiring: Wiring, node: GraphNode) -> GraphNode | None:
    """What takes the place of a product, if it is this pattern."""
    if node.op != "Mul":
        return None
    for plain, gate in wiring.sides(node):
        sigmoid = wiring.maker(gate, "Sigmoid")
        if sigmoid is None:
            continue
        slope = _slope(wiring, sigmoid.inputs[0], plain)
        if slope is not None:
            return GraphNode(node.name, "Swish", (plain,), node.outputs, {"alpha": slope})
    return None


def _slope(wiring: Wiring, name: str, plain: str) -> float | None:
    """a, where the value ``name`` is a * ``plain``."""
    if wiring.same(name, plain):
        return 1.0
    product = wiring.maker(name, "Mul")
    for first, second in wiring.sides(product) if product is not None else ():
        if wiring.same(first, plain) and (slope := wiring.number(second)) is not None:
            return slope
    return None
