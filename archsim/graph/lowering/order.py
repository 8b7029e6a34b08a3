"""Memory order of each value: images are stored channels last (N, H, W, C), everything else as the model writes it.

A value is an image when an image operator (convolution, pooling, batch or local response normalisation) touches it, or
when it is joined with an image by operators that keep the order (elementwise, concat, slice). Reshape and transpose
break the chain, so the four-dimensional tensors of attention stay row-major.
"""

from __future__ import annotations

from archsim.ir.graph import Graph, GraphNode, Shape
from archsim.ops.kit.catalogue import find

CHANNELS_LAST_FROM = 3  # ranks below have no spatial axes


def images(graph: Graph) -> frozenset[str]:
    """Names of the values that are stored channels last."""
    parents: dict[str, str] = {}
    marked: set[str] = set()
    for node in graph.nodes:
        found = find(node.op)
        if found is None or found.order == "rows":
            continue
        names = _spatial(graph, node)
        if found.order == "channels_last":
            made = (node.inputs[0], *node.outputs, *graph.beside(node))
            names = [name for name in names if name in made]
            marked.update(names)
        for name in names[1:]:
            parents[_root(parents, names[0])] = _root(parents, name)
    roots = {_root(parents, name) for name in marked}
    return frozenset(name for name in graph.values if _root(parents, name) in roots)


def memory_order(shape: Shape, image: bool) -> Shape:
    """Logical axes from outermost to innermost."""
    rank = len(shape)
    if image and rank >= CHANNELS_LAST_FROM:
        return (0, *range(2, rank), 1)
    return tuple(range(rank))


def _spatial(graph: Graph, node: GraphNode) -> list[str]:
    """Names of the data a node reads and writes that have the rank of its result."""
    rank = max(len(graph.shape(name)) for name in node.outputs if name in graph.values)
    names = [name for name in (*node.inputs, *graph.beside(node)) if name and not graph.values[name].constant]
    names += [name for name in node.outputs if name in graph.values]
    return [name for name in names if len(graph.shape(name)) == rank and rank >= CHANNELS_LAST_FROM]


def _root(parents: dict[str, str], name: str) -> str:
    while name in parents and parents[name] != name:
        name = parents[name]
    return name
