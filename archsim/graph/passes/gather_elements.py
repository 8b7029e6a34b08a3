"""GatherElements that takes whole rows by one list of indices is Gather: every element of a row has the row's index.

That is so where all indices but those along the axis are one, or the indices were expanded to be as many.
"""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.graph.producers import Producers
from archsim.ir.graph import Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Gather for each such GatherElements."""
    pieces, producers = Pieces(graph), Producers(graph)
    for node in graph.nodes:
        if node.op == "GatherElements":
            _as_rows(pieces, producers, node)
    return pieces.done()


def _as_rows(pieces: Pieces, producers: Producers, node: GraphNode) -> None:
    data, indices = node.inputs
    shape, wanted = pieces.shape(data), pieces.shape(indices)
    axis = node.integer("axis", 0) % len(shape)
    expanded = producers.maker(indices, "Expand")
    source = expanded.inputs[0] if expanded is not None else indices
    rows = pieces.shape(source)
    along = axis + len(rows) - len(shape)
    if along < 0 or rows[along] != wanted[axis]:  # expanded along the axis too
        return
    others = [size for place, size in enumerate(rows) if place != along]
    whole = all(size == wanted[place] for place, size in enumerate(shape) if place != axis)
    if not whole or any(size != 1 for size in others):
        return
    pieces.gone.add(node.name)
    size = pieces.constant(f"{node.name}.rows.shape", [wanted[axis]])
    flat = pieces.add("Reshape", f"{node.name}.rows", source, size)
    pieces.add("Gather", node.name, data, flat, output=node.outputs[0], axis=axis)
