"""Puts a normalisation by the root of the mean square together from its five to seven pieces.

x / sqrt(mean(x * x) + eps) * w along the last axis, where the division may be one by the root, a product with its
reciprocal or with a power of -1/2.
"""

from __future__ import annotations

from typing import NamedTuple

from archsim.graph.passes.manager import PassOptions
from archsim.graph.producers import Producers, rebuilt
from archsim.ir.graph import Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)


class Scaled(NamedTuple):
    """A value divided by the root of its mean square and ``epsilon``."""

    source: str
    epsilon: float


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with RMSNormalization for each such product with weights along the last axis."""
    return rebuilt(graph, _norm)


def _norm(producers: Producers, node: GraphNode) -> GraphNode | None:
    """What takes the place of the last product, if it is this pattern."""
    if node.op != "Mul":
        return None
    for plain, weight in producers.sides(node):
        scaled = _scaled(producers, plain)
        if scaled is not None and _is_row(producers.graph, weight, scaled.source):
            attributes = {"axis": -1, "epsilon": scaled.epsilon}
            return GraphNode(node.name, "RMSNormalization", (scaled.source, weight), node.outputs, attributes)
    return None


def _is_row(graph: Graph, weight: str, source: str) -> bool:
    """Whether weights have one number for each element of a row."""
    value, row = graph.values[weight], graph.shape(source)[-1:]
    return value.constant and value.shape == row


def _scaled(producers: Producers, name: str) -> Scaled | None:
    node = producers.maker(name, "Mul", "Div")
    if node is None:
        return None
    if node.op == "Div":
        return _checked(producers, node.inputs[0], producers.maker(node.inputs[1], "Sqrt"))
    for source, factor in producers.sides(node):
        found = _checked(producers, source, _root(producers, factor))
        if found is not None:
            return found
    return None


def _root(producers: Producers, name: str) -> GraphNode | None:
    """The node whose first input is v, where the value is 1 / sqrt(v)."""
    node = producers.maker(name, "Reciprocal", "Div", "Pow")
    if node is None:
        return None
    if node.op == "Pow":
        return node if producers.number(node.inputs[1]) == -0.5 else None
    if node.op == "Div" and producers.number(node.inputs[0]) != 1:
        return None
    return producers.maker(node.inputs[-1], "Sqrt")


def _checked(producers: Producers, source: str, root: GraphNode | None) -> Scaled | None:
    """What is divided by a root, where that is the root of its own mean square."""
    shifted = producers.maker(root.inputs[0], "Add") if root is not None else None
    for mean, offset in producers.sides(shifted) if shifted is not None else ():
        epsilon, square = producers.number(offset), _mean_square(producers, mean)
        if epsilon is not None and square is not None and producers.same(square, source):
            return Scaled(producers.through(source), epsilon)
    return None


def _mean_square(producers: Producers, name: str) -> str | None:
    """x, where a value is the mean of x * x along the last axis, which stays."""
    mean = producers.maker(name, "ReduceMean")
    if mean is None or not mean.integer("keepdims", 1) or not _is_last_axis(producers.graph, mean):
        return None
    square = producers.maker(mean.inputs[0], "Pow", "Mul")
    if square is None or (square.op == "Pow" and producers.number(square.inputs[1]) != 2):
        return None
    if square.op == "Mul" and not producers.same(*square.inputs):
        return None
    return square.inputs[0]


def _is_last_axis(graph: Graph, mean: GraphNode) -> bool:
    axes = graph.values[mean.inputs[1]].data if len(mean.inputs) > 1 and mean.inputs[1] else None
    rank = len(graph.shape(mean.inputs[0]))
    return axes is not None and [int(axis) % rank for axis in axes.reshape(-1)] == [rank - 1]
