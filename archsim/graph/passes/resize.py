"""Takes linear resizing apart: one interpolation between two neighbours for each axis, the one that leaves least first.

Parts are called after the node and their axis (NAME.axis2), the last one after the node alone.
"""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.resize import neighbours

AFTER = ("infer",)
BEFORE = ("alias",)  # a result as large as its input is the input under another name


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Interpolate nodes in the place of each linear Resize."""
    pieces = Pieces(graph)
    for node in graph.nodes:
        if node.op == "Resize" and node.text("mode", "nearest") == "linear" and pieces.takes(node):
            _take_apart(pieces, node)
    return pieces.done()


def _take_apart(pieces: Pieces, node: GraphNode) -> None:
    found = neighbours(node, pieces.graph.inputs_of(node))
    shape = pieces.shape(node.inputs[0])
    order = sorted(found, key=lambda axis: len(found[axis].rows) / shape[axis])
    pieces.gone.add(node.name)
    name = node.inputs[0]
    if not order:
        pieces.add("Identity", node.name, name, output=node.outputs[0])
    for axis in order:
        last = axis == order[-1]
        part = node.name if last else f"{node.name}.axis{axis}"
        weights = pieces.constant(f"{node.name}.axis{axis}.weights", found[axis].weights, "float32")
        output = node.outputs[0] if last else ""
        name = pieces.add("Interpolate", part, name, weights, output=output, axis=axis, rows=found[axis].rows)
