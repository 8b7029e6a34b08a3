"""Puts a softmax together with what exporters write against rows that are masked as a whole: Where(IsNaN(p), 0, p).

All elements of such a row are minus infinity before, and no numbers behind a plain softmax. The operator that takes its
place gives zeros in such rows, and the same in all others.
"""

from __future__ import annotations

from dataclasses import replace

from archsim.graph.passes.manager import PassOptions
from archsim.graph.producers import Producers, rebuilt
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.softmax import MASKED_ROWS

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with ``masked_rows`` at each softmax that is guarded so."""
    return rebuilt(graph, _safe)


def _safe(producers: Producers, node: GraphNode) -> GraphNode | None:
    """The softmax that takes the place of a ``Where``, if it is this pattern."""
    if node.op != "Where":
        return None
    test, zero, kept = node.inputs
    guard, softmax = producers.maker(test, "IsNaN"), producers.maker(kept, "Softmax")
    if guard is None or softmax is None or not producers.same(guard.inputs[0], kept) or producers.number(zero) != 0:
        return None
    return replace(softmax, name=node.name, outputs=node.outputs, attributes={**softmax.attributes, MASKED_ROWS: 0})
