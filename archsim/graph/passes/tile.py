"""Takes Tile apart: a view in which each repeated axis has one more before it, Expand along that, and a view."""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.tile import times_of

AFTER = ("infer",)
BEFORE = ("alias",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Expand in the place of each Tile."""
    pieces = Pieces(graph)
    for node in graph.nodes:
        if node.op == "Tile" and pieces.takes(node):
            _take_apart(pieces, node)
    return pieces.done()


def _take_apart(pieces: Pieces, node: GraphNode) -> None:
    parted, wide = list[int](), list[int]()
    for size, times in zip(pieces.shape(node.inputs[0]), times_of(node, pieces.graph.inputs_of(node)), strict=True):
        is_parted = size > 1 < times
        parted += [1, size] if is_parted else [size]
        wide += [times, size] if is_parted else [times * size]
    pieces.gone.add(node.name)
    sizes = {"parted": parted, "shape": wide, "whole": pieces.shape(node.outputs[0])}
    names = {part: pieces.constant(f"{node.name}.{part}.sizes", shape) for part, shape in sizes.items()}
    found = pieces.add("Reshape", f"{node.name}.parted", node.inputs[0], names["parted"])
    found = pieces.add("Expand", node.name, found, names["shape"], output=pieces.free(f"{node.name}.copies"))
    pieces.add("Reshape", f"{node.name}.whole", found, names["whole"], output=node.outputs[0])
