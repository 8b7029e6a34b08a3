"""ModelMapping <-> YAML (schema ``archsim.mapping/1``).

placements:
- x in dram at 0 bytes 1152 layers 0 to 0
layers:
- layer: conv1
  unit: mxu
  kind: matmul
  nodes:
  - keep b in l1 slots 1
  - for h in tiles of 5
  - keep a in l1 slots 2
  bound_cycles: 4100
  space: 812
  evaluated: 812
  proof: optimal in space
"""

from __future__ import annotations

from functools import partial
from typing import Any

from archsim.ir.asm.cursor import Cursor
from archsim.ir.asm.words import quote
from archsim.ir.forms.fields import Fields, Pairs, Row, open_form, phrase_of, text_of, to_yaml
from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode, ModelMapping, Placement

SCHEMA = "archsim.mapping/1"
KINDS = ("matmul", "vector", "copy", "host")


def mapping_to_yaml(mapping: ModelMapping) -> str:
    """The text form; ``mapping_from_yaml`` gives back an equal ModelMapping."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "workload": mapping.workload,
        "chip": mapping.chip,
        "objective": mapping.objective,
        "dtypes": Pairs(mapping.dtypes),
        "placements": [_placement_text(placement) for placement in mapping.placements],
        "layers": [_layer_form(layer) for layer in mapping.layers],
    }
    return to_yaml(document)


def mapping_from_yaml(text: str, path: str = "<text>") -> ModelMapping:
    """The ModelMapping of a text; raises ConfigError with file:line:column, key path and what is allowed."""
    fields = open_form(text, path, SCHEMA)
    mapping = ModelMapping(
        workload=fields.text("workload"),
        chip=fields.text("chip"),
        objective=fields.text("objective"),
        layers=tuple(_layer(Fields(node, at)) for node, at in fields.items("layers")),
        placements=tuple(phrase_of(node, at, _placement) for node, at in fields.items("placements")),
        dtypes={role: text_of(node, at) for role, node, at in fields.entries("dtypes")},
    )
    fields.end()
    return mapping


def _placement_text(item: Placement) -> str:
    return (
        f"{quote(item.tensor)} in {quote(item.memory)} at {item.base} bytes {item.size_bytes} "
        f"layers {item.first} to {item.last}"
    )


def _placement(cursor: Cursor) -> Placement:
    tensor = cursor.name("a tensor")
    cursor.keyword(("in",), "the memory")
    memory = cursor.name("a memory")
    base = _number(cursor, "at", "a byte address")
    size = _number(cursor, "bytes", "a number of bytes")
    first = _number(cursor, "layers", "the number of the first layer")
    return Placement(tensor, memory, base, size, first, _number(cursor, "to", "the number of the last layer"))


def _number(cursor: Cursor, word: str, what: str) -> int:
    cursor.keyword((word,), what)
    return cursor.integer(what)


def _layer_form(layer: LayerMapping) -> dict[str, Any]:
    form: dict[str, Any] = {
        "layer": layer.layer,
        "unit": layer.unit,
        "kind": layer.kind,
        "nodes": [node_text(node, index) for index, node in enumerate(layer.nodes)],
    }
    if layer.resident:
        form["resident"] = Row(layer.resident)
    counts = {"bound_cycles": layer.bound_cycles, "space": layer.space, "evaluated": layer.evaluated}
    return form | counts | {"proof": layer.proof}


def _layer(fields: Fields) -> LayerMapping:
    kind: Any = fields.text("kind", KINDS)
    nodes = fields.items("nodes")
    layer = LayerMapping(
        layer=fields.text("layer"),
        unit=fields.text("unit"),
        kind=kind,
        nodes=tuple(phrase_of(node, at, partial(_node, index)) for index, (node, at) in enumerate(nodes)),
        resident=fields.texts("resident"),
        bound_cycles=fields.integer("bound_cycles"),
        space=fields.integer("space"),
        evaluated=fields.integer("evaluated"),
        proof=fields.text("proof"),
    )
    fields.end()
    return layer


def node_text(node: MapNode, index: int) -> str:
    """``for h in tiles of 5 over rows``, ``keep a in l1 slots 2 reserve 3``; ``index``: place in the node list."""
    if isinstance(node, Loop):
        return f"for {quote(node.dim)} in tiles of {node.tile}" + (f" over {quote(node.axis)}" if node.axis else "")
    reserve = f" reserve {node.reserve_at}" if node.reserve_at != index else ""
    return f"keep {quote(node.operand)} in {quote(node.level)} slots {node.slots}{reserve}"


def _node(index: int, cursor: Cursor) -> MapNode:
    if cursor.keyword(("for", "keep"), "a loop or a keep") == "for":
        dim = cursor.name("a dim")
        cursor.keyword(("in",), "'tiles of'")
        cursor.keyword(("tiles",), "'of'")
        tile = _number(cursor, "of", "a tile size")
        return Loop(dim, tile, cursor.name("an axis of the array") if cursor.skip_if("over") else "")
    operand = cursor.name("an operand")
    cursor.keyword(("in",), "the memory")
    level = cursor.name("a memory")
    slots = _number(cursor, "slots", "a number of slots")
    reserve = cursor.integer("a place in the node list") if cursor.skip_if("reserve") else index
    return Keep(operand, level, slots, reserve)
