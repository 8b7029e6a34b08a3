"""Removes nodes whose result is their input under another name: Identity, Dropout at inference, stated formats."""

from __future__ import annotations

from dataclasses import replace

from archsim.graph.passes.manager import PassOptions
from archsim.ir.graph import Graph, GraphNode, ValueAlias, ValueFormat
from archsim.ops.kit.catalogue import find

AFTER = ("infer",)

STATED = ("QuantizeLinear", "DequantizeLinear")
BELOW_BYTES = ("int2", "uint2", "int4", "uint4", "float4e2m1")
NAMED = 3  # nodes, in a warning of many


def run(graph: Graph, options: PassOptions) -> Graph:
    """See ``remove_aliases``."""
    return remove_aliases(graph)


def remove_aliases(graph: Graph) -> Graph:
    """The graph without alias nodes; readers and graph outputs name the source. Removed nodes are in ``aliases``.

    ``formats`` gets what QuantizeLinear and DequantizeLinear say of the values they stand on.
    """
    names: dict[str, str] = {}
    kept: list[GraphNode] = []
    aliases: list[ValueAlias] = []
    formats: dict[str, ValueFormat] = dict(graph.formats)
    for node in graph.nodes:
        inputs = tuple(names.get(name, name) for name in node.inputs)
        found = find(node.op)
        if found is None or found.result != "alias":
            kept.append(replace(node, inputs=inputs))
            continue
        if node.op in STATED:
            formats[inputs[0]] = _format(graph, node, inputs[0], formats)
        names[node.outputs[0]] = inputs[0]
        aliases.append(ValueAlias(node.name, node.op, inputs[0]))
    for node in graph.folded:
        if node.op == "DequantizeLinear" and graph.values[node.inputs[1]].elements == 1:
            formats[node.outputs[0]] = _format(graph, node, node.inputs[0], {})
    outputs = tuple(names.get(name, name) for name in graph.outputs)
    return replace(
        graph, nodes=tuple(kept), outputs=outputs, aliases=(*graph.aliases, *aliases), formats=formats,
        warnings=(*graph.warnings, *_untimed(graph)),
    )  # fmt: skip


def _untimed(graph: Graph) -> tuple[str, ...]:
    """One warning that names constants that the file stores in formats in which they are not timed."""
    stored = dict[str, None]()
    for node in graph.folded:
        if node.op == "DequantizeLinear" and not graph.values[node.outputs[0]].format:
            source = graph.values[node.inputs[0]]
            if node.integer("block_size", 0) or source.dtype in BELOW_BYTES:
                stored[source.name] = None
    if not stored:
        return ()
    named = ", ".join(f"'{name}'" for name in list(stored)[:NAMED])
    more = f" and {len(stored) - NAMED} more" if len(stored) > NAMED else ""
    return (
        f"the file stores {named}{more} in blocks or below 8 bits; they are timed in the chip's format of weights, as "
        "others are, or in that of --dtype, such as weights=int4/32",
    )


def _format(graph: Graph, node: GraphNode, source: str, known: dict[str, ValueFormat]) -> ValueFormat:
    """What the node says of its input; the last DequantizeLinear also names where the file's own runtime has it."""
    scale = graph.values[node.inputs[1]].data
    zero = graph.values[node.inputs[2]] if len(node.inputs) > 2 and node.inputs[2] else None
    if scale is None or (zero is not None and zero.data is None):
        node.unsupported("its scale or zero point is computed at run time")
    offset = int(zero.data.reshape(-1)[0]) if zero is not None and zero.data is not None else 0
    named = node.outputs[0] if node.op == "DequantizeLinear" else ""
    old = known.get(source)
    dtype = zero.dtype if zero is not None else "uint8"
    return ValueFormat(
        float(scale.reshape(-1)[0]), offset, dtype, old.runtime_name if old and old.runtime_name else named
    )
