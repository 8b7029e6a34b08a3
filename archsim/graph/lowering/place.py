"""Placement: producers of a concatenation write straight into their part of its result, so that it costs nothing.

An input can be placed when a layer writes it (or it is itself a concatenation), it is read nowhere as a part of another
placed result, it is not a graph output, and the file does not give it other elements. The rest is copied. Nested
concatenations (DenseNet) share one tensor. Rows that are appended to a state are placed in it alike. What joins
within one of its inputs lies there and moves nowhere else.
"""

from __future__ import annotations

from archsim.graph.lowering.order import memory_order
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.kit.catalogue import find
from archsim.ops.kit.family import JoinSlots
from archsim.ops.kit.layout import LogicalLayout, dense, part


def place(graph: Graph, images: frozenset[str]) -> dict[str, LogicalLayout]:
    """Home layout of every value that a layer writes: a tensor of its own, or a part of a concatenation's."""
    home: dict[str, LogicalLayout] = {}
    written = _written(graph)
    movable = frozenset(name for name, on_chip in written.items() if on_chip)
    for node in reversed(graph.nodes):
        for name in node.outputs:
            if name in written:
                shape = graph.shape(name)
                home.setdefault(name, dense(name, shape, memory_order(shape, name in images)))
        joined = slots_of(graph, node)
        if joined is not None and joined.within:
            home[node.outputs[0]] = _within(graph, node, images)
        if joined is not None:
            _claim(graph, node, joined, movable, home)
    return home


def slots_of(graph: Graph, node: GraphNode) -> JoinSlots | None:
    """Where the inputs of a joining node lie in its output; None for other nodes."""
    found = find(node.op)
    return found.slots(node, graph.inputs_of(node)) if found is not None and found.slots is not None else None


def data_inputs(node: GraphNode, joined: JoinSlots) -> tuple[str, ...]:
    """The inputs that a joining node lays side by side."""
    return node.inputs[: len(joined.starts)]


def same_elements(graph: Graph, first: str, second: str) -> bool:
    """Whether elements of one value can stand in the other as they are: no two different formats are stated."""
    formats = [graph.formats[name] for name in (first, second) if name in graph.formats]
    return len(formats) < 2 or (formats[0].scale, formats[0].zero) == (formats[1].scale, formats[1].zero)


def _written(graph: Graph) -> dict[str, bool]:
    """Values written by layers, and whether by those of the chip: only these may lie in another tensor, since the
    checker takes all of a tensor that the host writes as there.
    """
    found: dict[str, bool] = {}
    for node in graph.nodes:
        family = find(node.op)
        if family is None or family.result == "layer":
            found |= dict.fromkeys((name for name in node.outputs if name), family is not None)
    return found


def _within(graph: Graph, node: GraphNode, images: frozenset[str]) -> LogicalLayout:
    """The first rows of the tensor that holds the node's output."""
    name = node.inputs[0]
    shape = graph.shape(name)
    whole = dense(name, shape, memory_order(shape, name in images))
    return part(whole, graph.shape(node.outputs[0]), 0, 0)


def _claim(
    graph: Graph, node: GraphNode, joined: JoinSlots, movable: frozenset[str], home: dict[str, LogicalLayout]
) -> None:
    whole = home[node.outputs[0]]
    names = data_inputs(node, joined)
    for name, start in zip(names, joined.starts, strict=True):
        free = name in movable and name not in home and name not in graph.outputs and names.count(name) == 1
        if free and same_elements(graph, name, node.outputs[0]):
            home[name] = part(whole, graph.shape(name), joined.axis, start)
