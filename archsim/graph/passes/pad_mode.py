"""Takes pads apart that are elements of the input themselves: rows looked up at known places, axis by axis."""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.pad import MODES, pads_of, places

AFTER = ("infer",)
BEFORE = ("alias",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Gather in the place of each such Pad."""
    pieces = Pieces(graph)
    for node in graph.nodes:
        if node.op == "Pad" and node.text("mode", "constant") in MODES and pieces.takes(node):
            _take_apart(pieces, node)
    return pieces.done()


def _take_apart(pieces: Pieces, node: GraphNode) -> None:
    widths = pads_of(node, pieces.graph)
    padded = [axis for axis, width in enumerate(widths) if width != (0, 0)]
    pieces.gone.add(node.name)
    name = node.inputs[0]
    if not padded:
        pieces.add("Identity", node.name, name, output=node.outputs[0])
    for axis in padded:
        last = axis == padded[-1]
        taken = pieces.constant(f"{node.name}.axis{axis}.places", places(node, pieces.shape(name)[axis], widths[axis]))
        part = node.name if last else f"{node.name}.axis{axis}"
        name = pieces.add("Gather", part, name, taken, output=node.outputs[0] if last else "", axis=axis)
