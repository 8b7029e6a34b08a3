"""Puts x * sigmoid(a * x) together: Swish, also called SiLU, which with a = 1.702 stands for GELU in some models."""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.producers import Producers, rebuilt
from archsim.ir.graph import Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Swish for each product of a value and its own sigmoid."""
    return rebuilt(graph, _swish)


def _swish(producers: Producers, node: GraphNode) -> GraphNode | None:
    """What takes the place of a product, if it is this pattern."""
    if node.op != "Mul":
        return None
    for plain, gate in producers.sides(node):
        sigmoid = producers.maker(gate, "Sigmoid")
        if sigmoid is None:
            continue
        slope = _slope(producers, sigmoid.inputs[0], plain)
        if slope is not None:
            return GraphNode(node.name, "Swish", (plain,), node.outputs, {"alpha": slope})
    return None


def _slope(producers: Producers, name: str, plain: str) -> float | None:
    """a, where the value ``name`` is a * ``plain``."""
    if producers.same(name, plain):
        return 1.0
    product = producers.maker(name, "Mul")
    for first, second in producers.sides(product) if product is not None else ():
        if producers.same(first, plain) and (slope := producers.number(second)) is not None:
            return slope
    return None
