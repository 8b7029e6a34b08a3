"""ScatterND and ScatterElements at known places: rows of the input and of what is written, side by side.

Each row of the result is a row of one of the two. Runs of rows that follow one another are slices, joined by Concat,
which costs nothing where their makers write them in place; where there are no runs, rows are looked up in both.
"""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.graph.row_numbers import as_rows, known_numbers
from archsim.ir.graph import Array, Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Concat or Gather for each scatter at known places."""
    pieces = Pieces(graph)
    for node in graph.nodes:
        if node.op in ("ScatterND", "ScatterElements") and pieces.takes(node):
            data = graph.values[node.inputs[1]].data
            if data is not None and data.size:
                _take_apart(pieces, node, data.astype(np.int64))
    return pieces.done()


def _take_apart(pieces: Pieces, node: GraphNode, indices: Array) -> None:
    source, _, updates = node.inputs
    shape = pieces.shape(source)
    if node.op == "ScatterND":
        axes, places = indices.shape[-1], list(np.moveaxis(indices, -1, 0))
    else:
        axes, places = len(shape), list(np.indices(indices.shape))
        places[node.integer("axis", 0)] = indices
    count = prod(shape[:axes])
    written = known_numbers(places, shape[:axes]).ravel()
    if written.min() < 0 or written.max() >= count:
        node.fail(f"writes at row {int(written.max())} of {count}")
    pieces.gone.add(node.name)
    takes = np.arange(count)
    takes[written] = count + np.arange(written.size)
    rows = as_rows(pieces, f"{node.name}.data", source, axes)
    target = pieces.constant(f"{node.name}.updates.sizes", (written.size, *shape[axes:]))
    others = pieces.add("Reshape", f"{node.name}.updates", updates, target)
    starts = [0, *(np.flatnonzero(np.diff(takes) != 1) + 1), count]
    runs = [(int(takes[start]), stop - start) for start, stop in zip(starts, starts[1:], strict=False)]
    found = _joined(pieces, node, (rows, others), runs) if 2 * len(runs) <= max(count, 2) else ""
    if not found:
        both = pieces.add("Concat", f"{node.name}.both", rows, others, axis=0)
        places_of = pieces.constant(f"{node.name}.rows", takes)
        found = pieces.add("Gather", node.name, both, places_of, axis=0, output=pieces.free(f"{node.name}.taken"))
    whole = pieces.constant(f"{node.name}.sizes", shape)
    pieces.add("Reshape", f"{node.name}.whole", found, whole, output=node.outputs[0])


def _joined(pieces: Pieces, node: GraphNode, both: tuple[str, str], runs: list[tuple[int, int]]) -> str:
    """Slices of the two side by side. ``runs``: first row, counted on from the first of the two, and how many."""
    count, parts = pieces.shape(both[0])[0], list[str]()
    for at, (first, rows) in enumerate(runs):
        name, start = (both[1], first - count) if first >= count else (both[0], first)
        if rows == pieces.shape(name)[0]:
            parts.append(name)
            continue
        bounds = (("start", start), ("stop", start + rows), ("axis", 0))
        given = [pieces.constant(f"{node.name}.part{at}.{key}", (number,)) for key, number in bounds]
        parts.append(pieces.add("Slice", f"{node.name}.part{at}", name, *given))
    if len(parts) == 1:
        return parts[0]
    return pieces.add("Concat", node.name, *parts, axis=0, output=pieces.free(f"{node.name}.joined"))
