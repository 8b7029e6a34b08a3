"""Looks the tables of a rotary embedding up at its positions: RotaryEmbedding with position_ids, as ONNX has it.

The look-ups are called NAME.cos and NAME.sin.
"""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph

AFTER = ("infer",)
BEFORE = ("alias",)
POSITIONS = 3  # input of RotaryEmbedding


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with tables that have a row for each batch and position."""
    pieces = Pieces(graph)
    for node in graph.nodes:
        if node.op != "RotaryEmbedding" or len(node.inputs) <= POSITIONS or not pieces.takes(node):
            continue
        pieces.gone.add(node.name)
        source, *tables = node.inputs[:POSITIONS]
        found = [
            pieces.add("Gather", f"{node.name}.{part}", table, node.inputs[POSITIONS], axis=0)
            for part, table in zip(("cos", "sin"), tables, strict=True)
        ]
        numbers = {key: node.integer(key, 0) for key in ("interleaved", "num_heads", "rotary_embedding_dim")}
        pieces.add("RotaryEmbedding", node.name, source, *found, output=node.outputs[0], **numbers)
    return pieces.done()
