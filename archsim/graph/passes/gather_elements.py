"""GatherElements that takes whole rows by one list of indices is Gather: every element of a row has the row's index.

That is so where all indices but those along the axis are one, or the indices were expanded to be as many. Any other is
Gather of rows of one element, by the numbers of these.
"""

from __future__ import annotations

import numpy as np

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.graph.producers import Producers
from archsim.graph.row_numbers import as_rows, numbers
from archsim.ir.graph import Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Gather for each such GatherElements."""
    pieces, producers = Pieces(graph), Producers(graph)
    for node in graph.nodes:
        if node.op == "GatherElements" and pieces.takes(node) and not _as_rows(pieces, producers, node):
            _as_elements(pieces, node)
    return pieces.done()


def _as_elements(pieces: Pieces, node: GraphNode) -> None:
    data, indices = node.inputs
    shape, wanted = pieces.shape(data), pieces.shape(indices)
    axis = node.integer("axis", 0) % len(shape)
    pieces.gone.add(node.name)
    places = []
    for place, size in enumerate(wanted):
        own = np.arange(size).reshape(-1, *[1] * (len(wanted) - 1 - place))
        places.append(indices if place == axis else pieces.constant(f"{node.name}.axis{place}", own))
    found = numbers(pieces, node.name, places, shape)
    pieces.add("Gather", node.name, as_rows(pieces, node.name, data, len(shape)), found, output=node.outputs[0], axis=0)


def _as_rows(pieces: Pieces, producers: Producers, node: GraphNode) -> bool:
    """Whether it is such a one, which a Gather then takes the place of."""
    data, indices = node.inputs
    shape, wanted = pieces.shape(data), pieces.shape(indices)
    axis = node.integer("axis", 0) % len(shape)
    expanded = producers.maker(indices, "Expand")
    source = expanded.inputs[0] if expanded is not None else indices
    rows = pieces.shape(source)
    along = axis + len(rows) - len(shape)
    if along < 0 or rows[along] != wanted[axis]:  # expanded along the axis too
        return False
    others = [size for place, size in enumerate(rows) if place != along]
    whole = all(size == wanted[place] for place, size in enumerate(shape) if place != axis)
    if not whole or any(size != 1 for size in others):
        return False
    pieces.gone.add(node.name)
    size = pieces.constant(f"{node.name}.rows.shape", [wanted[axis]])
    flat = pieces.add("Reshape", f"{node.name}.rows", source, size)
    pieces.add("Gather", node.name, data, flat, output=node.outputs[0], axis=axis)
    return True
