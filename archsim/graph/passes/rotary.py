"""Puts a rotary position embedding together: x * cos + concat(-x2, x1) * sin, x1 and x2 the halves of each row."""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.wiring import Wiring, replaced
from archsim.ir.graph import Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with RotaryEmbedding for each such sum."""
    wiring = Wiring(graph)
    found = {node.name: turned for node in graph.nodes if (turned := _rotary(wiring, node)) is not None}
    return replaced(graph, found)


def _rotary(wiring: Wiring, node: GraphNode) -> GraphNode | None:
    """What takes the place of the sum, if it is this pattern."""
    if node.op != "Add":
        return None
    for plain, turned in wiring.sides(node):
        first, second = wiring.maker(plain, "Mul"), wiring.maker(turned, "Mul")
        for half, sin in wiring.sides(second) if first is not None and second is not None else ():
            source = _turned(wiring, half)
            for own, cos in wiring.sides(first) if source is not None and first is not None else ():
                if source is not None and wiring.same(own, source) and _are_tables(wiring.graph, source, cos, sin):
                    return GraphNode(node.name, "RotaryEmbedding", (source, cos, sin), node.outputs)
    return None


def _are_tables(graph: Graph, source: str, *tables: str) -> bool:
    """Whether both are of one shape, of as many axes as the input has, and as many elements in a row."""
    shape, (cos, sin) = graph.shape(source), (graph.shape(name) for name in tables)
    return len(shape) == len(cos) == 4 and cos == sin and cos[-1] == shape[-1]


def _turned(wiring: Wiring, name: str) -> str | None:
    """x, where a value is concat(-x2, x1)."""
    joined = wiring.maker(name, "Concat")
    if joined is None or len(joined.inputs) != 2 or not _is_last(wiring.graph, joined.integer("axis", 0), name):
        return None
    negative = wiring.maker(joined.inputs[0], "Neg")
    back = _half(wiring, negative.inputs[0]) if negative is not None else None
    front = _half(wiring, joined.inputs[1])
    if back is None or front is None or not wiring.same(back[0], front[0]) or (front[1], back[1]) != (0, 1):
        return None
    return front[0]


def _half(wiring: Wiring, name: str) -> tuple[str, int] | None:
    """(x, 0 or 1), where a value is the first or second half of x along its last axis."""
    node = wiring.maker(name, "Slice", "Split")
    if node is None:
        return None
    graph, source = wiring.graph, node.inputs[0]
    width = graph.shape(source)[-1]
    if graph.shape(name) != (*graph.shape(source)[:-1], width // 2) or width % 2:
        return None
    if node.op == "Split":
        halves = len(node.outputs) == 2 and _is_last(graph, node.integer("axis", 0), source)
        return (source, node.outputs.index(wiring.through(name))) if halves else None
    start, step = wiring.number(node.inputs[1]), wiring.number(node.inputs[4]) if len(node.inputs) > 4 else 1.0
    starts = {0.0: 0, width / 2: 1, -width / 2: 1}
    return (source, starts[start]) if start in starts and step == 1 else None


def _is_last(graph: Graph, axis: int, name: str) -> bool:
    rank = len(graph.shape(name))
    return axis % rank == rank - 1
