"""Who makes and who reads each value of a graph, for passes that rebuild one operator from the pieces of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from archsim.graph.sort import live, topological
from archsim.ir.graph import Graph, GraphNode

FLOATS = ("float", "bfloat")
ULPS = 1e-3  # share by which a stored constant may differ from the one that a formula has: half precision's


class Wiring:
    """The makers and readers of a graph's values."""

    def __init__(self, graph: Graph) -> None:
        """Of all nodes."""
        self.graph = graph
        self._makers = {name: node for node in graph.nodes for name in node.outputs if name}
        self._readers: dict[str, list[GraphNode]] = {}
        for node in graph.nodes:
            for name in filter(None, node.inputs):
                self._readers.setdefault(name, []).append(node)

    def maker(self, name: str, *ops: str) -> GraphNode | None:
        """The node that makes a value, where it is one of these operators; casts between floats are looked through."""
        node = self._makers.get(self.through(name))
        return node if node is not None and node.op in ops else None

    def through(self, name: str) -> str:
        """The value that ``name`` is before casts between floats, which change no more than its rounding."""
        node = self._makers.get(name)
        while node is not None and node.op == "Cast" and node.text("to", "").startswith(FLOATS):
            name = node.inputs[0]
            node = self._makers.get(name)
        return name

    def readers(self, name: str) -> list[GraphNode]:
        """The nodes that read a value; one that reads it twice is there twice."""
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


def replaced(graph: Graph, found: Mapping[str, GraphNode], names: Iterable[str] = ()) -> Graph:
    """The graph with other nodes in the place of those ``found`` by name, without the pieces that nothing reads then.

    A node that takes the place of another writes the same values. ``names``: of pieces that must be gone, since the new
    node goes by one of them.
    """
    if not found:
        return graph
    gone = set(names)
    nodes = tuple(found.get(node.name, node) for node in graph.nodes if node.name not in gone)
    graph = replace(graph, nodes=topological(nodes))
    return replace(graph, nodes=live(graph))
