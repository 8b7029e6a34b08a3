"""Takes operators of ONNX Runtime's own domain apart into those of ONNX, which other passes know.

Sums before a normalisation are called NAME.sum, biases NAME.bias, rotations NAME.query.rotary and NAME.key.rotary; what
gives the operator its name keeps it. Tables of a rotary embedding are cut or looked up at the positions first.
"""

from __future__ import annotations

from dataclasses import replace

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.ir.graph import Graph, GraphNode
from archsim.ops import microsoft as own

NAMED = 3  # nodes, in a warning of many
AFTER = ("infer",)
BEFORE = ("alias",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with the parts of each such operator in its place."""
    pieces, assumed = Pieces(graph), list[str]()
    for node in graph.nodes:
        take_apart = _RULES.get(node.op)
        if take_apart is not None and pieces.takes(node):
            pieces.gone.add(node.name)
            take_apart(pieces, node)
            if any(value is not None and value.data is None for value in own.lengths_of(node, graph.inputs_of(node))):
                assumed.append(node.name)
    return replace(pieces.done(), warnings=(*graph.warnings, *_said(assumed)))


def _said(assumed: list[str]) -> tuple[str, ...]:
    """One warning that names the nodes whose rows of keys may be fewer in a run."""
    if not assumed:
        return ()
    named = ", ".join(f"'{name}'" for name in assumed[:NAMED])
    more = f" and {len(assumed) - NAMED} more" if len(assumed) > NAMED else ""
    return (
        f"{' and '.join(own.LENGTHS)} of {named}{more} are known at run time only; all rows of past and all new ones "
        "are taken as valid",
    )


def _given(node: GraphNode, place: int) -> str:
    return node.inputs[place] if len(node.inputs) > place else ""


def _activation(pieces: Pieces, node: GraphNode) -> None:
    source, bias = node.inputs[0], _given(node, 1)
    if bias:
        source = pieces.add("Add", f"{node.name}.bias", source, bias)
    found = own.activation_of(node, source)
    pieces.add(found.op, node.name, source, output=node.outputs[0], **found.attributes)


def _simplified(pieces: Pieces, node: GraphNode) -> None:
    found = own.norm_of(node)
    pieces.add(found.op, node.name, *node.inputs[:2], output=node.outputs[0], **found.attributes)


def _skip(pieces: Pieces, node: GraphNode) -> None:
    """Sum, bias, normalisation; the sum may be an output too."""
    layer = node.op == own.SKIP
    bias = _given(node, 4 if layer else 3)
    asked = _given_output(node, own.SUM)
    total = pieces.add("Add", f"{node.name}.sum", *node.inputs[:2], output="" if bias else asked)
    if bias:
        total = pieces.add("Add", f"{node.name}.bias", total, bias, output=asked)
    found = own.norm_of(node)
    factors = node.inputs[2:4] if layer else node.inputs[2:3]
    pieces.add(found.op, node.name, total, *(name for name in factors if name), output=node.outputs[0],
               **found.attributes)  # fmt: skip


def _given_output(node: GraphNode, place: int) -> str:
    return node.outputs[place] if len(node.outputs) > place else ""


def _rotary(pieces: Pieces, node: GraphNode) -> None:
    """Tables at the positions, which the run may compute."""
    source, positions, *tables = node.inputs
    shape, stated = pieces.shape(source), pieces.values[positions]
    if stated.elements == 1 and shape[-2] > 1:
        if stated.data is None:
            node.unsupported("rotates from a position on that is known at run time only")
        positions = pieces.constant(f"{node.name}.positions", own.positions_of(stated.data, shape))
    found = [pieces.add("Gather", f"{node.name}.{part}", table, positions, axis=0)
             for part, table in zip(("cos", "sin"), tables, strict=True)]  # fmt: skip
    attributes = own.rotation_of(node, shape, pieces.shape(tables[0]))
    pieces.add("RotaryEmbedding", node.name, source, *found, output=node.outputs[0], **attributes)


def _multi_head(pieces: Pieces, node: GraphNode) -> None:
    """Biases of queries, keys and values, which lie in one."""
    found, bias = own.attention_of(node), _given(node, 3)
    names, start = list(found.inputs), 0
    for place, part in enumerate(("query", "key", "value") if bias else ()):
        end = start + pieces.shape(names[place])[-1]
        bounds = [pieces.constant(f"{node.name}.{part}.{key}", [number]) for key, number in
                  (("start", start), ("end", end), ("axis", 0))]  # fmt: skip
        cut = pieces.add("Slice", f"{node.name}.{part}.bias", bias, *bounds)
        names[place] = pieces.add("Add", f"{node.name}.{part}", names[place], cut)
        start = end
    _attention(pieces, found, names)


def _grouped(pieces: Pieces, node: GraphNode) -> None:
    """Queries and new keys are rotated at the positions behind those of before."""
    found = own.attention_of(node)
    names = list(found.inputs)
    if own.is_joined(node, pieces.graph.inputs_of(node)):
        names[:3] = _parted(pieces, node)
    if node.integer("do_rotary", 0):
        rows, older = pieces.shape(names[0])[1], _given(node, 3)
        past = pieces.shape(older)[2] if older else 0
        tables = [_cut(pieces, node, name, past, rows) for name in node.inputs[own.TABLES]]
        for place, (part, heads) in enumerate((("query", "num_heads"), ("key", "kv_num_heads"))):
            attributes = {"num_heads": node.integer(heads, 0), "interleaved": node.integer("rotary_interleaved", 0)}
            names[place] = pieces.add("RotaryEmbedding", f"{node.name}.{part}.rotary", names[place], *tables,
                                      output="", **attributes)  # fmt: skip
    _attention(pieces, found, names)


def _parted(pieces: Pieces, node: GraphNode) -> list[str]:
    """Queries, keys and values out of rows that have all three."""
    rows, found = node.inputs[0], list[str]()
    for part, (start, end) in zip(("query", "key", "value"), own.parts_of(node, pieces.shape(rows)), strict=True):
        bounds = [pieces.constant(f"{node.name}.{part}.{key}", [number]) for key, number in
                  (("start", start), ("end", end), ("axis", 2))]  # fmt: skip
        found.append(pieces.add("Slice", f"{node.name}.{part}", rows, *bounds))
    return found


def _cut(pieces: Pieces, node: GraphNode, table: str, past: int, rows: int) -> str:
    """Rows of a table behind the ``past`` first, for every batch."""
    bounds = [pieces.constant(f"{node.name}.{table}.{key}", [number]) for key, number in
              (("start", past), ("end", past + rows), ("axis", 0))]  # fmt: skip
    cut = pieces.add("Slice", f"{node.name}.{table}.rows", table, *bounds)
    axis = pieces.constant(f"{node.name}.{table}.front", [0])
    return pieces.add("Unsqueeze", f"{node.name}.{table}", cut, axis)


def _attention(pieces: Pieces, node: GraphNode, names: list[str]) -> None:
    while names and not names[-1]:
        names.pop()
    pieces.nodes.append(GraphNode(node.name, node.op, tuple(names), node.outputs, node.attributes))


_RULES = {
    **dict.fromkeys((own.BIAS_GELU, own.FAST_GELU, own.QUICK_GELU), _activation),
    own.SIMPLIFIED: _simplified,
    **dict.fromkeys((own.SKIP, own.SKIP_SIMPLIFIED), _skip),
    own.ROTARY: _rotary,
    own.MULTI_HEAD: _multi_head,
    own.GROUPED: _grouped,
}
