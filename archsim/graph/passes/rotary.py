"""Puts a rotary position embedding together: x * cos + concat(-x2, x1) * sin, x1 and x2 the halves of each row."""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.producers import Producers, rebuilt
from archsim.ir.graph import Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with RotaryEmbedding for each such sum."""
    return rebuilt(graph, _rotary)


def _rotary(producers: Producers, node: GraphNode) -> GraphNode | None:
    """What takes the place of the sum, if it is this pattern."""
    if node.op != "Add":
        return None
    for plain, turned in producers.sides(node):
        first, second = producers.maker(plain, "Mul"), producers.maker(turned, "Mul")
        for half, sin in producers.sides(second) if first is not None and second is not None else ():
            source = _turned(producers, half)
            for own, cos in producers.sides(first) if source is not None and first is not None else ():
                if (
                    source is not None
                    and producers.same(own, source)
                    and _are_tables(producers.graph, source, cos, sin)
                ):
                    return GraphNode(node.name, "RotaryEmbedding", (source, cos, sin), node.outputs)
    return None


def _are_tables(graph: Graph, source: str, *tables: str) -> bool:
    """Whether both are of one shape, of as many axes as the input has, and as many elements in a row."""
    shape, (cos, sin) = graph.shape(source), (graph.shape(name) for name in tables)
    return len(shape) == len(cos) == 4 and cos == sin and cos[-1] == shape[-1]


def _turned(producers: Producers, name: str) -> str | None:
    """x, where a value is concat(-x2, x1)."""
    joined = producers.maker(name, "Concat")
    if joined is None or len(joined.inputs) != 2 or not _is_last(producers.graph, joined.integer("axis", 0), name):
        return None
    negative = producers.maker(joined.inputs[0], "Neg")
    back = _half(producers, negative.inputs[0]) if negative is not None else None
    front = _half(producers, joined.inputs[1])
    if back is None or front is None or not producers.same(back[0], front[0]) or (front[1], back[1]) != (0, 1):
        return None
    return front[0]


def _half(producers: Producers, name: str) -> tuple[str, int] | None:
    """(x, 0 or 1), where a value is the first or second half of x along its last axis."""
    node = producers.maker(name, "Slice", "Split")
    if node is None:
        return None
    graph, source = producers.graph, node.inputs[0]
    width = graph.shape(source)[-1]
    if graph.shape(name) != (*graph.shape(source)[:-1], width // 2) or width % 2:
        return None
    if node.op == "Split":
        halves = len(node.outputs) == 2 and _is_last(graph, node.integer("axis", 0), source)
        return (source, node.outputs.index(producers.through(name))) if halves else None
    start, step = producers.number(node.inputs[1]), producers.number(node.inputs[4]) if len(node.inputs) > 4 else 1.0
    starts = {0.0: 0, width / 2: 1, -width / 2: 1}
    return (source, starts[start]) if start in starts and step == 1 else None


def _is_last(graph: Graph, axis: int, name: str) -> bool:
    rank = len(graph.shape(name))
    return axis % rank == rank - 1
