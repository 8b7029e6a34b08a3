"""Takes GroupNormalization apart: each group as one channel of an instance normalisation, then scale and bias."""

from __future__ import annotations

from math import prod

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph, GraphNode

AFTER = ("infer",)
BEFORE = ("alias",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with pieces in the place of each GroupNormalization."""
    pieces = Pieces(graph)
    for node in graph.nodes:
        if node.op == "GroupNormalization" and pieces.takes(node):
            _take_apart(pieces, node)
    return pieces.done()


def _take_apart(pieces: Pieces, node: GraphNode) -> None:
    source, scale, bias = node.inputs
    shape, groups = pieces.shape(source), node.integer("num_groups", 0)
    pieces.gone.add(node.name)
    rows = (shape[0], groups, prod(shape[1:]) // groups)
    parted = pieces.add("Reshape", f"{node.name}.groups", source, _sizes(pieces, node, "groups", rows))
    by_group = pieces.shape(scale) == pieces.shape(bias) == (groups,)
    ones, zeros = (pieces.constant(f"{node.name}.{name}", [number] * groups, "float32") for name, number in _PLAIN)
    given = (scale, bias) if by_group else (ones, zeros)
    found = pieces.add("InstanceNormalization", node.name, parted, *given, output=pieces.free(f"{node.name}.rows"),
                       epsilon=node.number("epsilon", 1e-5))  # fmt: skip
    last = by_group
    found = pieces.add("Reshape", f"{node.name}.channels", found, _sizes(pieces, node, "channels", shape),
                       output=node.outputs[0] if last else "")  # fmt: skip
    for name, op, part in () if last else ((scale, "Mul", "scale"), (bias, "Add", "bias")):
        size = pieces.shape(name)[0]
        wide = (size, *[1] * (len(shape) - 2))
        each = pieces.add("Reshape", f"{node.name}.{part}.wide", name, _sizes(pieces, node, f"{part}.wide", wide))
        if size != shape[1]:
            each = _of_channels(pieces, node, part, each, shape[1])
        output = node.outputs[0] if part == "bias" else ""
        found = pieces.add(op, f"{node.name}.{part}", found, each, output=output)


_PLAIN = (("ones", 1.0), ("zeros", 0.0))


def _of_channels(pieces: Pieces, node: GraphNode, part: str, name: str, channels: int) -> str:
    """A number for each group as one for each of its channels."""
    groups, *ones = pieces.shape(name)
    parted = pieces.add("Reshape", f"{node.name}.{part}.parted", name,
                        _sizes(pieces, node, f"{part}.parted", (groups, 1, *ones)))  # fmt: skip
    wide = pieces.add("Expand", f"{node.name}.{part}.each", parted,
                      _sizes(pieces, node, f"{part}.each", (groups, channels // groups, *ones)))  # fmt: skip
    return pieces.add(
        "Reshape", f"{node.name}.{part}.all", wide, _sizes(pieces, node, f"{part}.all", (channels, *ones))
    )


def _sizes(pieces: Pieces, node: GraphNode, part: str, shape: tuple[int, ...]) -> str:
    return pieces.constant(f"{node.name}.{part}.shape", shape)
