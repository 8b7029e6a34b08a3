"""Puts an EmbeddingBag together: a look-up of rows, perhaps times a weight each, and their sum, mean or maximum.

What is reduced over are axes that the indices brought in, and nothing else reads the rows. The bag is called as the
look-up is, which is the name that ``--lookups`` knows.
"""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.producers import Producers, rebuilt
from archsim.ir.graph import Graph, GraphNode, OperatorAttribute
from archsim.ops.embedding_bag import MODES
from archsim.ops.kit.lookups import BAG, ROWS
from archsim.ops.kit.table_rows import index_axes
from archsim.ops.reduce import reduced_axes

AFTER = ("lookups",)
BEFORE = ("composites",)

_MODE_OF = {op: mode for mode, op in MODES.items()}


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with EmbeddingBag for each such reduction."""
    return rebuilt(graph, _bag)


def _bag(producers: Producers, node: GraphNode) -> GraphNode | None:
    """What takes the place of the reduction, if it is this pattern."""
    if node.op not in _MODE_OF:
        return None
    rows, weights = _weighted(producers, node)
    if rows is None:
        return None
    graph = producers.graph
    inner = index_axes(rows, graph.inputs_of(rows))
    pooled = reduced_axes(node, graph.inputs_of(node))
    if not set(pooled) <= set(inner):
        return None
    attributes: dict[str, OperatorAttribute] = {
        **rows.attributes,
        "mode": _MODE_OF[node.op],
        "bag": tuple(inner.index(axis) for axis in pooled),
        "keepdims": node.integer("keepdims", 1),
    }
    return GraphNode(rows.name, BAG, (*rows.inputs, *weights), node.outputs, attributes)


def _weighted(producers: Producers, node: GraphNode) -> tuple[GraphNode | None, tuple[str, ...]]:
    """The look-up that a reduction reads, alone, and the weights of its rows where it has some."""
    source = node.inputs[0]
    product = _before(producers, source, node, "Mul") if node.op == MODES["sum"] else None
    if product is None:
        return _before(producers, source, node, ROWS), ()
    for plain, weights in producers.sides(product):
        rows = _before(producers, plain, product, ROWS)
        if rows is not None:
            return rows, (weights,)
    return None, ()


def _before(producers: Producers, name: str, reader: GraphNode, op: str) -> GraphNode | None:
    """The node of an operator that makes a value for this one reader alone."""
    node = producers.maker(name, op)
    alone = node is not None and not node.fused and producers.readers(node.outputs[0]) == [reader]
    return node if alone and name not in producers.graph.outputs else None
