"""Takes Col2Im apart: windows side by side, Fold for what overlaps, and a view of what pads leave."""

from __future__ import annotations

from itertools import chain

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph, GraphNode, known_data
from archsim.ops.columns import ColumnWindows, windows_of

AFTER = ("infer",)
BEFORE = ("alias",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Fold in the place of each Col2Im."""
    pieces = Pieces(graph)
    for node in graph.nodes:
        if node.op == "Col2Im" and pieces.takes(node):
            sizes = (known_data(graph.values[name]) for name in node.inputs[1:3])
            _take_apart(pieces, node, windows_of(node, graph.shape(node.inputs[0]), *sizes))
    return pieces.done()


def _take_apart(pieces: Pieces, node: GraphNode, found: ColumnWindows) -> None:
    batch, channels, *_ = pieces.shape(node.outputs[0])
    pieces.gone.add(node.name)
    axes = len(found.kernel)
    parted = (batch, channels, *found.kernel, *found.counts)
    beside = tuple(count * tap for count, tap in zip(found.counts, found.kernel, strict=True))
    order = (0, 1, *chain.from_iterable((2 + axes + axis, 2 + axis) for axis in range(axes)))
    name = pieces.add("Reshape", f"{node.name}.windows", node.inputs[0], _numbers(pieces, node, "windows", parted))
    name = pieces.add("Transpose", f"{node.name}.turned", name, perm=order)
    is_done = found.strides == found.kernel and beside == found.image
    name = pieces.add("Reshape", f"{node.name}.beside", name,
                      _numbers(pieces, node, "beside", (batch, channels, *beside)),
                      output=node.outputs[0] if is_done else "")  # fmt: skip
    if is_done:
        return
    reach = zip(found.counts, found.kernel, found.strides, found.begins, found.image, strict=True)
    steps = tuple(
        max(count - 1 - (-tap // stride), -(-(begin + size) // stride)) for count, tap, stride, begin, size in reach
    )
    name = pieces.add("Fold", node.name, name, kernel=found.kernel, strides=found.strides, steps=steps,
                      output=pieces.free(f"{node.name}.padded"))  # fmt: skip
    ends = tuple(begin + size for begin, size in zip(found.begins, found.image, strict=True))
    bounds = (("begins", found.begins), ("ends", ends), ("axes", tuple(range(2, axes + 2))))
    given = [_numbers(pieces, node, part, numbers) for part, numbers in bounds]
    pieces.add("Slice", f"{node.name}.crop", name, *given, output=node.outputs[0])


def _numbers(pieces: Pieces, node: GraphNode, part: str, numbers: tuple[int, ...]) -> str:
    return pieces.constant(f"{node.name}.{part}.numbers", numbers)
