"""Drops an operator behind one of its own kind that it changes nothing of: the ReLU of a ReLU, the floor of a floor."""

from __future__ import annotations

from dataclasses import replace

from archsim.graph.passes.manager import PassOptions
from archsim.ir.graph import Graph

AFTER = ("alias",)
BEFORE = ("fuse",)
IDEMPOTENT = ("Relu", "Abs", "Floor", "Ceil", "Round", "Sign")


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph in which whoever reads such a result reads the one before it."""
    made = {name: node for node in graph.nodes for name in node.outputs}
    instead: dict[str, str] = {}
    kept = []
    for stated in graph.nodes:
        node = replace(stated, inputs=tuple(instead.get(name, name) for name in stated.inputs))
        before = made.get(node.inputs[0]) if node.inputs else None
        if before is not None and node.op == before.op and node.op in IDEMPOTENT:
            instead[node.outputs[0]] = node.inputs[0]
        else:
            kept.append(node)
    return replace(graph, nodes=tuple(kept), outputs=tuple(instead.get(name, name) for name in graph.outputs))
