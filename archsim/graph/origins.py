"""Where the elements of a value come from, through nodes that only move elements: reshapes, slices, casts, joins.

So indices of a look-up that reach it as a part of an input, in another shape or joined with others, are known as those
of the input are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from archsim.base.errors import ModelError
from archsim.ir.graph import Array, Graph, GraphNode
from archsim.ops.kit.catalogue import family, find

Leaf = Callable[[str], Array]
MOST = 1 << 24  # elements of an input that are followed one by one
CAST = "Cast"


@dataclass(frozen=True, slots=True)
class ElementOrigins:
    """Of each element of a value: ``position`` in the graph's inputs one behind the other, -1 for a constant's;
    ``value`` of a constant's.
    """

    position: Array
    value: Array

    def inputs(self, graph: Graph) -> tuple[str, ...]:
        """The graph inputs that elements come from, in order."""
        starts = input_starts(graph)
        spans = ((name, starts[name], starts[name] + graph.values[name].elements) for name in graph.inputs)
        return tuple(name for name, low, high in spans if np.any((self.position >= low) & (self.position < high)))


def input_starts(graph: Graph) -> dict[str, int]:
    """Where each graph input begins, all of them one behind the other."""
    found, at = {}, 0
    for name in graph.inputs:
        found[name] = at
        at += graph.values[name].elements
    return found


def origin(graph: Graph, name: str) -> ElementOrigins | None:
    """Where the elements of ``name`` come from; None where something computes them.

    Raises ModelError for an input of more elements than can be followed one by one.
    """
    starts = input_starts(graph)

    def position(leaf: str) -> Array:
        value = graph.values[leaf]
        if leaf not in starts:
            return np.full(value.shape, -1, np.int64)
        if value.elements > MOST:
            raise ModelError(
                f"'{name}': its elements are those of '{leaf}', which has {value.elements:,}; at most {MOST:,} can be "
                "followed to a look-up, unless it takes the input as it is"
            )
        return np.arange(starts[leaf], starts[leaf] + value.elements, dtype=np.int64).reshape(value.shape)

    def held(leaf: str) -> Array:
        data = graph.values[leaf].data
        return np.zeros(graph.values[leaf].shape, np.int64) if data is None else np.asarray(data).astype(np.int64)

    found = carried(graph, name, position)
    if found is None:
        return None
    value = carried(graph, name, held)
    assert value is not None
    return ElementOrigins(found, value)


def carried(graph: Graph, name: str, leaf: Leaf, casts: bool = False) -> Array | None:
    """What the nodes before ``name`` move there of ``leaf``, the contents of inputs and constants by name.

    None where a node on the way computes, or the contents of what steers one are not known. ``casts``: convert elements
    as the casts on the way do, instead of passing them.
    """
    value = graph.values[name]
    if name in graph.inputs or value.data is not None:
        return leaf(name)
    node = next((node for node in graph.nodes if name in node.outputs), None)
    if node is None or not moves(graph, node):
        return None
    moving = _moving(graph, node)
    arguments: list[Array | None] = []
    for at, item in enumerate(node.inputs):
        array = carried(graph, item, leaf, casts) if at in moving else graph.values[item].data if item else None
        if array is None and (at in moving or item):
            return None
        arguments.append(array)
    at = node.outputs.index(name)
    found = arguments[0] if node.op == CAST else np.asarray(family(node).reference(node, *arguments)[at])
    for cast in (item for item in (node, *node.fused) if item.op == CAST and casts):
        (found,) = family(cast).reference(cast, found)
    return found


def element_type(graph: Graph, name: str) -> str:
    """The type of a value's elements as far as it is known: of the input, constant or cast that it comes from."""
    value = graph.values[name]
    if value.kind != "activation":
        return value.dtype
    node = next((node for node in graph.nodes if name in node.outputs), None)
    if node is None or not moves(graph, node):
        return ""
    last = (node, *node.fused)[-1]
    if last.op == CAST:
        return last.text("to", "")
    return element_type(graph, node.inputs[0])


def moves(graph: Graph, node: GraphNode) -> bool:
    """Whether a node only moves elements: a view, a copy, a join, a cast, rows by constant indices."""
    found = find(node.op)
    if found is None or any(other.op != CAST for other in node.fused):
        return False
    if found.result != "layer" or found.slots is not None or node.op == CAST:
        return True
    return node.op == "GatherRows" and graph.values[node.inputs[1]].data is not None


def _moving(graph: Graph, node: GraphNode) -> range:
    """Which inputs are moved; the others steer."""
    found = find(node.op)
    slots = found.slots(node, graph.inputs_of(node)) if found is not None and found.slots is not None else None
    return range(len(slots.starts) if slots is not None else 1)
