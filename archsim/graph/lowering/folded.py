"""Work that a graph does on constants alone, and that is therefore done once, before the model runs.

It is not in a Workload: an exporter that computes attention on learned queries, or a table of positions, has the result
stored. But nobody should wonder where its multiply-accumulates went.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from archsim.base.errors import ModelError
from archsim.ir.graph import Graph, GraphNode
from archsim.ir.workload import Workload

_SUMMING = ("Attention", "Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul")  # operators that multiply and sum


def folded_macs(graph: Graph, lowered: Callable[[Graph], Workload]) -> dict[str, int]:
    """Multiply-accumulates by the name of each node whose result is a constant, as ``lowered`` counts them where the
    operands come in as inputs.

    ``graph``: inferred. A node without a rule counts none.
    """
    found: dict[str, int] = {}
    for node in _needed(graph):
        if node.op not in _SUMMING:
            continue
        try:
            macs = lowered(_alone(graph, node)).macs
        except ModelError:
            continue
        found[node.name] = found.get(node.name, 0) + macs
    return found


def _needed(graph: Graph) -> list[GraphNode]:
    """The nodes on whose results something that runs depends, in order."""
    wanted = {name for node in graph.nodes for name in node.inputs} | set(graph.outputs)
    found: list[GraphNode] = []
    for node in reversed(graph.folded):
        if wanted.intersection(node.outputs):
            found.insert(0, node)
            wanted.update(node.inputs)
    return found


def _alone(graph: Graph, node: GraphNode) -> Graph:
    """A graph of one node, whose first operand comes in; the others are its own, whatever they were made of."""
    names = [name for name in node.inputs if name]
    values = {name: replace(graph.values[name], sources=(name,)) for name in names}
    values[names[0]] = replace(values[names[0]], kind="input", data=None, sources=())
    return Graph(node.name, (node,), values, (names[0],), node.outputs[:1])
