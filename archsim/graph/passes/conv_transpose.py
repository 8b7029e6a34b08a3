"""Takes transposed convolutions apart whose windows overlap, leave gaps or are cut off at the edges.

The product, with windows side by side, keeps the name of the node; NAME.fold adds up what falls on one output, and
NAME.crop is a view of what stays.
"""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.conv_transpose import SpreadWindows, spread_of

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with windows of every transposed convolution side by side."""
    pieces = Pieces(graph)
    for node in graph.nodes:
        if node.op == "ConvTranspose" and pieces.takes(node):
            spread = spread_of(node, graph.shape(node.inputs[0]), graph.shape(node.inputs[1])[2:])
            if not spread.is_side_by_side(graph.shape(node.inputs[0])[2:]):
                _take_apart(pieces, node, spread)
    return pieces.done()


def _take_apart(pieces: Pieces, node: GraphNode, spread: SpreadWindows) -> None:
    sizes, axes = pieces.shape(node.inputs[0])[2:], len(spread.out)
    pieces.gone.add(node.name)
    group = node.integer("group", 1)
    name = pieces.add("ConvTranspose", node.name, *node.inputs[:2], strides=spread.kernel, group=group,
                      output=pieces.free(f"{node.name}.columns"))  # fmt: skip
    reach = zip(sizes, *spread, strict=True)
    steps = tuple(
        max(size - 1 - (-tap // stride), -(-(begin + out) // stride)) for size, tap, stride, begin, out in reach
    )
    name = pieces.add("Fold", f"{node.name}.fold", name, *node.inputs[2:], kernel=spread.kernel, strides=spread.strides,
                      steps=steps)  # fmt: skip
    ends = tuple(begin + out for begin, out in zip(spread.begins, spread.out, strict=True))
    bounds = [
        pieces.constant(f"{node.name}.{part}", numbers)
        for part, numbers in (("begins", spread.begins), ("ends", ends), ("axes", range(2, axes + 2)))
    ]
    pieces.add("Slice", f"{node.name}.crop", name, *bounds, output=node.outputs[0])
