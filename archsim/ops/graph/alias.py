"""Removes nodes whose result is their input under another name (Identity, Dropout at inference)."""

from __future__ import annotations

from dataclasses import replace

from archsim.ops.graph.family import find
from archsim.ops.graph.nodes import Alias, Graph, Node


def remove_aliases(graph: Graph) -> Graph:
    """The graph without alias nodes; readers and graph outputs name the source. Removed nodes are in ``aliases``."""
    names: dict[str, str] = {}
    kept: list[Node] = []
    aliases: list[Alias] = []
    for node in graph.nodes:
        inputs = tuple(names.get(name, name) for name in node.inputs)
        found = find(node.op)
        if found is None or found.result != "alias":
            kept.append(replace(node, inputs=inputs))
            continue
        names[node.outputs[0]] = inputs[0]
        aliases.append(Alias(node.name, node.op, inputs[0]))
    outputs = tuple(names.get(name, name) for name in graph.outputs)
    return replace(graph, nodes=tuple(kept), outputs=outputs, aliases=(*graph.aliases, *aliases))
