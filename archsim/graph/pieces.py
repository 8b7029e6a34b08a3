"""Nodes that a pass puts in the place of one, with the shapes of what they make and the constants that they read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Literal

import numpy as np

from archsim.graph.sort import live, topological
from archsim.ir.graph import (
    SMALL_ELEMENTS,
    Array,
    Graph,
    GraphNode,
    GraphValue,
    Inputs,
    OperatorAttribute,
    Shape,
    UnsupportedError,
)
from archsim.ops.kit.catalogue import family


@dataclass
class Pieces:
    """Of a ``graph``: ``nodes`` beside its own, by the names of the nodes that they stand for."""

    graph: Graph
    values: dict[str, GraphValue] = field(default_factory=dict)
    nodes: list[GraphNode] = field(default_factory=list)
    folded: list[GraphNode] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin with the values of the graph."""
        self.values = dict(self.graph.values)

    def takes(self, node: GraphNode) -> bool:
        """Whether a node of the graph is of a form that has a rule; one that has none is left as it is."""
        try:
            family(node).shapes(node, self.graph.inputs_of(node))
        except UnsupportedError:
            return False
        return True

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a value of the graph, or of one made here."""
        return self.values[name].shape

    def free(self, name: str) -> str:
        """A name that no value has: this one, or one like it."""
        while name in self.values:
            name += "_"
        return name

    def constant(self, name: str, data: Any, dtype: str = "int64") -> str:
        """A small constant, by this name where it is free."""
        name, array = self.free(name), np.asarray(data, dtype)
        self.values[name] = GraphValue(name, array.shape, "constant", dtype, array)
        return name

    def add(self, op: str, name: str, *inputs: str, output: str = "", **attributes: OperatorAttribute) -> str:
        """A node of one output, a value of the graph or a new one; what it makes of constants alone is a constant too.
        Returns what it writes."""
        node = GraphNode(name, op, inputs, (output or self.free(name),), attributes)
        read = tuple(self.values[each] if each else None for each in inputs)
        shape, *_ = family(node).shapes(node, read)
        constant = all(value is None or value.constant for value in read)
        kind: Literal["constant", "activation"] = "constant" if constant else "activation"
        sources = {source for value in read if constant and value is not None for source in value.sources}
        data = _contents(node, read, shape) if constant else None
        dtype = "float32" if data is None else str(data.dtype)
        name = node.outputs[0]
        self.values[name] = GraphValue(name, shape, kind, dtype, data, tuple(sorted(sources)))
        (self.folded if constant else self.nodes).append(node)
        return node.outputs[0]

    def done(self) -> Graph:
        """The graph with these nodes in the place of those that are ``gone``."""
        if not self.gone:
            return self.graph
        kept = [node for node in self.graph.nodes if node.name not in self.gone]
        nodes = topological((*kept, *self.nodes))
        graph = replace(self.graph, nodes=nodes, values=self.values, folded=(*self.graph.folded, *self.folded))
        return replace(graph, nodes=live(graph))


def _contents(node: GraphNode, read: Inputs, shape: Shape) -> Array | None:
    """Of what follows from constants, where theirs are known and it is small."""
    given = [None if value is None else value.data for value in read]
    if prod(shape) > SMALL_ELEMENTS or any(
        value is not None and data is None for value, data in zip(read, given, strict=True)
    ):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(family(node).reference(node, *given)[0])
