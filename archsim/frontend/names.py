"""Names of layers where a file has none that says anything: operator, ordinal and output shape, ``conv_17_56x56x64``.

A name that the file gives is kept: a module path, a word of its author. None is a name that an exporter counts
(``n16``, ``Conv_16``, ``node_conv2d_3``, ``16``), or that an earlier node bears already: neither says which layer it
is. The ordinal is the node's place among those that compute, from 1, in the order of execution; the shape is that of
one sample, images as they are stored: rows, columns, channels. Both are of the file as stored, so that names are the
same at every batch. This is the only place that makes such names; run, map, verify, mapping files, traces and pages
bear them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from archsim.graph.lowering.order import images, memory_order
from archsim.ir.graph import Graph, GraphNode, Shape


def layer_name(op: str, ordinal: int, shape: Shape) -> str:
    """``('Conv', 17, (56, 56, 64))`` as ``conv_17_56x56x64``; of an operator with a domain its last word; a scalar
    has the shape 1."""
    return f"{op.rpartition('.')[2].lower()}_{ordinal}_{'x'.join(map(str, shape)) or '1'}"


def is_counted(name: str, op: str) -> bool:
    """Whether a name holds nothing but a number, and at most words for 'node' and for its operator."""
    kind = re.escape(op.rpartition(".")[2])
    counted = rf"(?i:(n|node|op)?[_:]*|({kind})([123]d)?[_:]+)[0-9]+(_[0-9]+)*"
    return re.fullmatch(rf"{counted}|node_\w+", name) is not None


def shape_names(graph: Graph, given: Collection[str]) -> Mapping[str, str]:
    """Node -> its new name, for the nodes of an inferred graph that are not called by one of ``given``, the names of
    the file, or only counted by it. New names occur once and are none of those that stay."""
    needed = {node.name for node in graph.nodes if node.name not in given or is_counted(node.name, node.op)}
    taken = {node.name for node in graph.nodes} - needed
    first = graph.shape(graph.inputs[0]) if graph.inputs else ()
    order, found = _stored_shapes(graph, first[0] if first else 1), dict[str, str]()
    for ordinal, node in enumerate(graph.nodes, start=1):
        if node.name in needed:
            found[node.name] = _free(layer_name(node.op, ordinal, order[node.name]), taken)
            taken.add(found[node.name])
    return found


def renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with nodes called by their new names."""
    return replace(graph, nodes=tuple(replace(node, name=names.get(node.name, node.name)) for node in graph.nodes))


def _stored_shapes(graph: Graph, batch: int) -> Mapping[str, Shape]:
    """Node -> the shape of its first result, of one sample and in the order of memory."""
    pictures, found = images(graph), dict[str, Shape]()
    for node in graph.nodes:
        output = _result(graph, node)
        shape = graph.shape(output) if output else ()
        stored = tuple(shape[axis] for axis in memory_order(shape, output in pictures))
        found[node.name] = stored[1:] if len(stored) > 1 and stored[0] == batch else stored
    return found


def _result(graph: Graph, node: GraphNode) -> str:
    return next((name for name in node.outputs if name in graph.values), "")


def _free(name: str, taken: Collection[str]) -> str:
    """``name``, or with the first number after it that makes it one of its own."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
