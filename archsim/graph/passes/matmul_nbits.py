"""Makes MatMulNBits a MatMul with weights that are dequantised in blocks along K, and an Add of its bias.

The bytes of the file are unpacked and dequantised as constants (UnpackBits, DequantizeLinear), which is not done before
numbers are asked for; shapes and attributes say the rest. The MatMul keeps the name, the Add is NAME.bias, the weights
are NAME.weight, of the first node where several read the same. What has no such format is left as it is.
"""

from __future__ import annotations

from dataclasses import replace

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph, GraphNode, UnsupportedError
from archsim.ops import matmul_nbits as own

AFTER = ("infer",)
BEFORE = ("alias",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with a product in the place of each such node."""
    pieces = Pieces(graph)
    made: dict[object, str] = {}  # weights, by what they are made of
    for node in graph.nodes:
        if node.op == own.NAME and _has_format(graph, node):
            key = (node.inputs[own.WEIGHTS : own.ORDER], tuple(sorted(node.attributes.items())))
            if key not in made:
                made[key] = _weights(pieces, node)
            _product(pieces, node, made[key])
    return pieces.done()


def _has_format(graph: Graph, node: GraphNode) -> bool:
    try:
        own.refuse(node, graph.inputs_of(node))
    except UnsupportedError:
        return False
    return True


def _given(node: GraphNode, place: int) -> str:
    return node.inputs[place] if len(node.inputs) > place else ""


def _weights(pieces: Pieces, node: GraphNode) -> str:
    """Weights (K, N) in blocks along K, which ``block_formats`` gives their format."""
    packed, scales, zeros = (_given(node, place) for place in (own.WEIGHTS, own.SCALES, own.ZEROS))
    bits, block = node.integer("bits", 4), node.integer("block_size", 0)
    columns, depth, blocks = node.integer("N", 0), node.integer("K", 0), own.blocks_of(node)
    sizes = pieces.constant(f"{scales}.sizes", [columns, blocks])
    rows = pieces.add("Reshape", f"{scales}.rows", scales, sizes)
    turned = _typed(pieces, pieces.add("Transpose", f"{scales}.columns", rows), pieces.values[scales].dtype)
    inputs = [_elements(pieces, packed, bits, columns, depth), turned]
    if zeros:
        inputs.append(_elements(pieces, zeros, bits, columns, blocks))
    return pieces.add("DequantizeLinear", f"{node.name}.weight", *inputs, axis=0, block_size=block)


def _elements(pieces: Pieces, packed: str, bits: int, rows: int, count: int) -> str:
    name = pieces.add("UnpackBits", f"{packed}.elements", packed, bits=bits, rows=rows, count=count)
    return _typed(pieces, name, f"int{bits}")


def _typed(pieces: Pieces, name: str, dtype: str) -> str:
    """The constant with elements of this type, which its contents, where they are unread, do not say."""
    pieces.values[name] = replace(pieces.values[name], dtype=dtype)
    return name


def _product(pieces: Pieces, node: GraphNode, weights: str) -> None:
    pieces.gone.add(node.name)
    bias = _given(node, own.BIAS)
    name = pieces.add("MatMul", node.name, node.inputs[0], weights, output="" if bias else node.outputs[0])
    if bias:
        pieces.add("Add", f"{node.name}.bias", name, bias, output=node.outputs[0])
