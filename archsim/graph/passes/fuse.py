"""Fusion on shapes alone: constant scales and shifts fold into the node before; sums, gates and activations ride on it.

A node absorbs the single reader of its output, again and again: first constant scales and shifts along its channel
axis (batch normalisation and the like: they fold into weights and bias); then, where it is a product, one sum with
another value of its shape that is there before it, or one product with it element by element (a residual, a gate: read
where the product's outputs are written); then at most one activation.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from archsim.graph.passes.manager import PassOptions
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.kit.catalogue import find
from archsim.ops.kit.family import ScaleShift

AFTER = ("alias",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """See ``fuse``."""
    return fuse(graph)


def fuse(graph: Graph) -> Graph:
    """The graph with absorbed nodes in ``Node.fused``."""
    readers = _readers(graph)
    taken: set[str] = set()
    kept: list[GraphNode] = []
    there = set(graph.inputs) - set(graph.states)
    for node in graph.nodes:
        if node.name in taken:
            continue
        chain = _chain(graph, readers, there, node)
        taken.update(other.name for other in chain)
        kept.append(replace(node, fused=chain, outputs=chain[-1].outputs) if chain else node)
        there.update(kept[-1].outputs)
    return replace(graph, nodes=tuple(kept))


def folds_shift(graph: Graph, node: GraphNode) -> bool:
    """Whether a node fused into this one adds a constant (so that a bias is needed)."""
    return any(affine.shift for other in node.fused if (affine := _affine(graph, other)) is not None)


def _readers(graph: Graph) -> dict[str, list[GraphNode]]:
    readers: dict[str, list[GraphNode]] = {}
    for node in graph.nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    return readers


def _chain(
    graph: Graph, readers: dict[str, list[GraphNode]], there: Set[str], node: GraphNode
) -> tuple[GraphNode, ...]:
    """``there``: values that are there when the node runs."""
    found = find(node.op)
    if found is None or len([name for name in node.outputs if name]) != 1:
        return ()
    channel = found.channel(node, graph) if found.channel is not None and _is_biased_by_constants(graph, node) else None
    takes_scale = _affine(graph, node) is not None or _has_weights(graph, node)
    chain: list[GraphNode] = []
    reader = _only_reader(graph, readers, node)
    while reader is not None and channel is not None and _folds(graph, reader, channel, takes_scale):
        chain.append(reader)
        reader = _only_reader(graph, readers, reader)
    made = (chain or [node])[-1].outputs[0]
    if found.combines and reader is not None and (both := _combined(graph, there, reader, made)) is not None:
        chain.append(both)
        reader = _only_reader(graph, readers, both)
    if found.activates and reader is not None and _is_epilogue(graph, reader, 1):
        chain.append(reader)
    return tuple(chain)


def _combined(graph: Graph, there: Set[str], reader: GraphNode, made: str) -> GraphNode | None:
    """Of what is ``made`` and a value that is ``there`` the sum or product, in this order; None of other readers."""
    others = [name for name in reader.inputs if name != made]
    if len(others) != 1 or others[0] not in there or not _is_epilogue(graph, reader, 2):
        return None
    return replace(reader, inputs=(made, others[0]))


def _only_reader(graph: Graph, readers: dict[str, list[GraphNode]], node: GraphNode) -> GraphNode | None:
    name = node.outputs[0]
    found = readers.get(name, [])
    if name in graph.outputs or name in graph.formats:  # rounded to elements there, so not passed on as it is
        return None
    return found[0] if len(found) == 1 else None


def _folds(graph: Graph, reader: GraphNode, channel: int, takes_scale: bool) -> bool:
    """Whether a scale or shift folds in; one scale per channel only where ``takes_scale``."""
    affine = _affine(graph, reader)
    if affine is None or affine.axis not in (None, channel):
        return False
    return affine.axis is None or not affine.scale or takes_scale


def _has_weights(graph: Graph, node: GraphNode) -> bool:
    """Whether the second factor of a product is constant, so that its columns can be scaled."""
    second = graph.values.get(node.inputs[1]) if len(node.inputs) > 1 else None
    return second is not None and second.constant


def _is_biased_by_constants(graph: Graph, node: GraphNode) -> bool:
    """Whether nothing computed at run time is added to a product, which could not take up scales."""
    return all(graph.values[name].constant for name in node.inputs[2:] if name) or _affine(graph, node) is not None


def _affine(graph: Graph, node: GraphNode) -> ScaleShift | None:
    found = find(node.op)
    return found.affine(node, graph) if found is not None and found.affine is not None else None


def _is_epilogue(graph: Graph, reader: GraphNode, operands: int) -> bool:
    """Whether a reader of so many values that are no constants may run on a result as it leaves."""
    found = find(reader.op)
    known = [name for name in reader.inputs if name and graph.values[name].constant]
    if found is None or found.epilogue is None or len([*filter(None, reader.inputs)]) - len(known) != operands:
        return False
    return found.epilogue(reader, graph) is not None
