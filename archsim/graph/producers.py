"""Who makes and who reads each value of a graph, for passes that rebuild one operator from the pieces of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from archsim.base.errors import ModelError
from archsim.graph.sort import live, topological
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.kit.catalogue import family

FLOATS = ("float16", "bfloat16", "float32", "float64")
BOOLEAN = ("And", "Or", "Xor", "Not", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN", "IsInf")
CHOSEN = {"Where": 1}  # input whose elements come out, where that is not the first
ULPS = 1e-3  # share by which a stored constant may differ from the one that a formula has: half precision's


class Producers:
    """The makers and readers of a graph's values. A value whose elements the file states is nobody's piece: what is
    rounded to elements there is not passed on as it is."""

    def __init__(self, graph: Graph) -> None:
        """Of all nodes."""
        self.graph = graph
        self._makers = {name: node for node in graph.nodes for name in node.outputs if name}
        self._readers: dict[str, list[GraphNode]] = {}
        for node in graph.nodes:
            for name in node.reads:
                self._readers.setdefault(name, []).append(node)

    def maker(self, name: str, *ops: str) -> GraphNode | None:
        """The node that makes a value, where it is one of these operators; casts between floats are looked through."""
        name = self.through(name)
        node = self._makers.get(name) if name not in self.graph.formats else None
        return node if node is not None and node.op in ops else None

    def through(self, name: str) -> str:
        """The value that ``name`` is before casts between floats, which change no more than its rounding."""
        while name not in self.graph.formats:
            node = self._makers.get(name)
            if node is None or node.op != "Cast" or node.text("to", "") not in FLOATS:
                return name
            if self.elements(node.inputs[0]) not in FLOATS:
                return name
            name = node.inputs[0]
        return name

    def elements(self, name: str) -> str:
        """The type of a value's elements, as far as it follows from inputs, constants, casts and comparisons."""
        while (node := self._makers.get(name)) is not None:
            if node.op == "Cast":
                return node.text("to", "")
            if node.op in BOOLEAN:
                return "bool"
            name = node.inputs[CHOSEN.get(node.op, 0)] if node.inputs else ""
        value = self.graph.values.get(name)
        return value.dtype if value is not None else ""

    def readers(self, name: str) -> list[GraphNode]:
        """The nodes that read a value, fused ones as those that they are in; one that reads it twice is there twice."""
        return self._readers.get(name, [])

    def number(self, name: str) -> float | None:
        """The one number that a constant holds, in any shape; None of other values."""
        value = self.graph.values.get(name)
        if value is None or value.data is None or value.elements != 1:
            return None
        return float(np.ravel(value.data)[0])

    def is_number(self, name: str, wanted: float) -> bool:
        """Whether a constant holds one number, about this one."""
        found = self.number(name)
        return found is not None and abs(found - wanted) <= ULPS * abs(wanted)

    def same(self, first: str, second: str) -> bool:
        """Whether two values are one, casts between floats apart."""
        return self.through(first) == self.through(second)

    def sides(self, node: GraphNode) -> Iterator[tuple[str, str]]:
        """Both inputs of an operator of two, either way round: for those that commute."""
        if len(node.inputs) == 2:
            first, second = node.inputs
            yield first, second
            yield second, first


def rebuilt(graph: Graph, pattern: Callable[[Producers, GraphNode], GraphNode | None]) -> Graph:
    """The graph with what a ``pattern`` puts in the place of nodes, without the pieces that nothing reads then.

    ``pattern``: the node that takes the place of one and writes the same values, None where it is no such one. One that
    would write them in another shape takes no place.
    """
    producers = Producers(graph)
    asked = ((node.name, pattern(producers, node)) for node in graph.nodes)
    found = {name: node for name, node in asked if node is not None and _fits(graph, node)}
    if not found:
        return graph
    graph = replace(graph, nodes=topological(tuple(found.get(node.name, node) for node in graph.nodes)))
    return replace(graph, nodes=live(graph))


def _fits(graph: Graph, node: GraphNode) -> bool:
    """Whether an operator takes these inputs, and makes of them what has been there."""
    try:
        rule, inputs = family(node), graph.inputs_of(node)
        rule.check_inputs(node, inputs)
        found = rule.shapes(node, inputs)
    except ModelError:
        return False
    return found[: len(node.outputs)] == tuple(graph.shape(name) for name in node.outputs)
