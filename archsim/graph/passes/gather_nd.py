"""GatherND is Gather of rows: its places along several axes become one number each, and these axes one."""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.graph.row_numbers import as_rows, known_numbers, numbers
from archsim.ir.graph import Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Gather for each GatherND."""
    pieces = Pieces(graph)
    for node in graph.nodes:
        if node.op == "GatherND" and pieces.takes(node):
            _take_apart(pieces, node)
    return pieces.done()


def _take_apart(pieces: Pieces, node: GraphNode) -> None:
    source, indices = node.inputs
    shared, shape, places = node.integer("batch_dims", 0), pieces.shape(source), pieces.shape(indices)
    axes = shared + places[-1]
    pieces.gone.add(node.name)
    data = pieces.values[indices].data
    lead = [each.reshape(*each.shape, *[1] * (len(places) - 1 - shared)) for each in np.indices(shape[:shared])]
    if data is not None:
        known = (*lead, *np.moveaxis(data, -1, 0))
        found = pieces.constant(f"{node.name}.numbers", known_numbers(known, shape[:axes]))
    else:
        parts = [pieces.constant(f"{node.name}.sample", known_numbers(lead, shape[:shared]))] if shared else []
        for at in range(places[-1]):
            index = pieces.constant(f"{node.name}.axis{at}", at)
            parts.append(pieces.add("Gather", f"{node.name}.places{at}", indices, index, axis=len(places) - 1))
        sizes = ((prod(shape[:shared]),) if shared else ()) + shape[shared:axes]
        found = numbers(pieces, node.name, parts, sizes)
    rows = as_rows(pieces, node.name, source, axes)
    pieces.add("Gather", node.name, rows, found, output=node.outputs[0], axis=0)
