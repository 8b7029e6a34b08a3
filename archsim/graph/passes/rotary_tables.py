"""Reads half of a rotary embedding's tables where both halves of each row are one: cos(concat(f, f)) is cos(f) twice.

Exporters write the frequencies of the pairs twice, so that tables are as wide as a head. The first half of a table is
called TABLE.pairs; two rotations that read one table read one half of it.
"""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph, GraphNode

AFTER = ("rotary",)
BEFORE = ("fuse",)
BY_ELEMENT = ("Cast", "Cos", "Identity", "Mul", "Sin")  # equal halves stay equal
TABLES = slice(1, 3)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with tables of one number for each pair."""
    pieces, halves = Pieces(graph), dict[str, str]()
    makers = {name: node for node in (*graph.folded, *graph.nodes) for name in node.outputs if name}
    for node in graph.nodes:
        if node.op != "RotaryEmbedding" or not _is_doubled(graph, makers, node):
            continue
        for table in node.inputs[TABLES]:
            if table not in halves:
                halves[table] = _first_half(pieces, table)
        pieces.gone.add(node.name)
        source, *tables = (halves.get(name, name) for name in node.inputs)
        pieces.add(node.op, node.name, source, *tables, output=node.outputs[0], **node.attributes)
    return pieces.done()


def _is_doubled(graph: Graph, makers: dict[str, GraphNode], node: GraphNode) -> bool:
    """Whether both tables are as wide as a head whose halves are rotated, and say everything twice."""
    tables, width = node.inputs[TABLES], graph.shape(node.inputs[0])[-1]
    return (
        len(node.inputs) == TABLES.stop
        and len(graph.shape(node.inputs[0])) == len(graph.shape(tables[0]))  # heads have an axis of their own
        and not node.integer("interleaved", 0)
        and all(graph.shape(name)[-1] == width and _has_equal_halves(graph, makers, name) for name in tables)
    )


def _has_equal_halves(graph: Graph, makers: dict[str, GraphNode], name: str) -> bool:
    """Whether the halves of each row along the last axis are one, by what made the value; where the file states the
    elements of a value on the way, it is left as it is."""
    while name not in graph.formats and (node := makers.get(name)) is not None:
        width = graph.shape(name)[-1:]
        if node.op == "Concat" and node.integer("axis", 0) % len(graph.shape(name)) == len(graph.shape(name)) - 1:
            return len(node.inputs) == 2 and len(set(node.inputs)) == 1
        wide = [each for each in node.inputs if each and graph.shape(each)[-1:] == width != (1,)]
        if len(wide) != 1 or not (node.op in BY_ELEMENT or _keeps_rows(graph, node)):
            return False
        name = wide[0]
    return False


def _keeps_rows(graph: Graph, node: GraphNode) -> bool:
    """Whether a node gives rows another place, or picks some, and leaves each as it is."""
    if node.op in ("Unsqueeze", "Reshape"):
        return True  # the last axis is as long as before
    rank = len(graph.shape(node.inputs[0]))
    return node.op == "Gather" and node.integer("axis", 0) % rank != rank - 1


def _first_half(pieces: Pieces, table: str) -> str:
    shape = pieces.shape(table)
    bounds = [
        pieces.constant(f"{table}.{key}", [number])
        for key, number in (("start", 0), ("end", shape[-1] // 2), ("axis", len(shape) - 1))
    ]
    return pieces.add("Slice", f"{table}.pairs", table, *bounds)
