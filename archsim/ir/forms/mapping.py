"""ModelMapping <-> YAML (schema ``archsim.mapping/1``): what ``map --export`` writes and ``--mapping`` reads.

placements:
- x in dram at 0 bytes 1152 layers 0 to 0
layers:
- layer: conv1
  unit: mxu
  kind: matmul
  nodes:
  - {keep: b, in: l1, slots: 1}
  - {loop: h, tile: 5}
  - {keep: a, in: l1, slots: 2}
  bound_cycles: 4100
  space: 812
  evaluated: 812
  proof: optimal in space
constraints:
- {layers: "conv*", units: [mxu], order: [k, h], tiles: {h: 5}, stationary: [b], spatial: {rows: [c]}}

All but the schema may be left out; of a layer its name, unit, kind and nodes are needed. ``bound_cycles``, ``space``,
``evaluated``, ``proof`` and ``simulated_cycles`` say what a search found.
"""

from __future__ import annotations

from typing import Any

from archsim.ir.asm.cursor import Cursor
from archsim.ir.asm.words import quote
from archsim.ir.forms.fields import (
    Fields,
    Pairs,
    Row,
    fail,
    integer_of,
    open_form,
    phrase_of,
    text_of,
    texts_of,
    to_yaml,
)
from archsim.ir.mapping import (
    Constraint,
    Keep,
    LayerMapping,
    Loop,
    MapNode,
    MappingFile,
    ModelMapping,
    Placement,
)
from archsim.spec.nodes import Node

SCHEMA = "archsim.mapping/1"
KINDS = ("matmul", "vector", "copy", "host")
GIVEN = "given"


def mapping_to_yaml(mapping: ModelMapping) -> str:
    """The text form; ``mapping_from_yaml`` gives back an equal ModelMapping."""
    digests = {"workload": mapping.workload_sha256, "chip": mapping.chip_sha256}
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "workload": mapping.workload,
        "chip": mapping.chip,
        **({"sha256": Pairs(digests)} if any(digests.values()) else {}),
        "objective": mapping.objective,
        "dtypes": Pairs(mapping.dtypes),
        "placements": [placement_text(placement) for placement in mapping.placements],
        "layers": [_layer_form(layer) for layer in mapping.layers],
    }
    return to_yaml(document)


def mapping_from_yaml(text: str, path: str = "<text>") -> ModelMapping:
    """The ModelMapping of a text; raises ConfigError with file:line:column, key path and what is allowed."""
    return mapping_file_from_yaml(text, path).mapping


def mapping_file_from_yaml(text: str, path: str = "<text>") -> MappingFile:
    """The mapping, constraints and places of a text; raises ConfigError as ``mapping_from_yaml``."""
    fields = open_form(text, path, SCHEMA)
    names = {key: fields.text(key) if fields.has(key) else "" for key in ("workload", "chip", "objective")}
    digests = {key: text_of(node, at) for key, node, at in fields.entries("sha256")}
    places: dict[str, str] = {}
    for key in ("layers", "placements", "dtypes", "objective"):
        _note(fields, key, places)
    mapping = ModelMapping(
        **names,
        layers=tuple(_layer(Fields(node, at), places) for node, at in fields.items("layers")),
        placements=tuple(phrase_of(node, at, read_placement) for node, at in fields.items("placements")),
        dtypes={role: text_of(node, at) for role, node, at in fields.entries("dtypes")},
        workload_sha256=digests.get("workload", ""),
        chip_sha256=digests.get("chip", ""),
    )
    constraints = tuple(_constraint(Fields(node, at)) for node, at in fields.items("constraints"))
    fields.end()
    return MappingFile(mapping, constraints, places)


def _note(fields: Fields, key: str, places: dict[str, str]) -> None:
    """Remember where a key and the items of its list stand."""
    if not fields.has(key):
        return
    node = fields.child(key)
    places[fields.at(key)] = str(node.mark)
    for number, item in enumerate(node.items):
        places[f"{fields.at(key)}[{number}]"] = str(item.mark)


def placement_text(item: Placement) -> str:
    """``x in dram at 0 bytes 1152 layers 0 to 0``."""
    return (
        f"{quote(item.tensor)} in {quote(item.memory)} at {item.base} bytes {item.size_bytes} "
        f"layers {item.first} to {item.last}"
    )


def read_placement(cursor: Cursor) -> Placement:
    """A Placement from the words that ``placement_text`` makes."""
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
        "nodes": [Pairs(node_form(node, index)) for index, node in enumerate(layer.nodes)],
    }
    if layer.resident:
        form["resident"] = Row(layer.resident)
    counts = {key: getattr(layer, key) for key in ("bound_cycles", "expected_cycles", "space", "evaluated")}
    alone = {"simulated_cycles": layer.simulated_cycles} if layer.simulated_cycles else {}
    return form | counts | {"proof": layer.proof} | alone


def _layer(fields: Fields, places: dict[str, str]) -> LayerMapping:
    kind: Any = fields.text("kind", KINDS)
    _note(fields, "nodes", places)
    _note(fields, "resident", places)
    keys = ("bound_cycles", "expected_cycles", "space", "evaluated", "simulated_cycles")
    counts = {key: fields.integer(key) if fields.has(key) else 0 for key in keys}
    layer = LayerMapping(
        layer=fields.text("layer"),
        unit=fields.text("unit"),
        kind=kind,
        nodes=tuple(_node(item, at, index) for index, (item, at) in enumerate(fields.items("nodes"))),
        resident=fields.texts("resident"),
        **counts,
        proof=fields.text("proof") if fields.has("proof") else GIVEN,
    )
    fields.end()
    return layer


def node_form(node: MapNode, index: int) -> dict[str, Any]:
    """``{loop: h, tile: 5, axis: rows}``, ``{keep: a, in: l1, slots: 2, reserve_at: 3}``; ``index``: its place."""
    if isinstance(node, Loop):
        return {"loop": node.dim, "tile": node.tile, **({"axis": node.axis} if node.axis else {})}
    reserve = {"reserve_at": node.reserve_at} if node.reserve_at != index else {}
    return {"keep": node.operand, "in": node.level, "slots": node.slots, **reserve}


def _node(item: Node, at: str, index: int) -> MapNode:
    fields = Fields(item, at)
    found: MapNode
    if fields.has("loop"):
        found = Loop(fields.text("loop"), fields.integer("tile"), fields.text("axis") if fields.has("axis") else "")
    elif fields.has("keep"):
        reserve_at = fields.integer("reserve_at") if fields.has("reserve_at") else index
        found = Keep(fields.text("keep"), fields.text("in"), fields.integer("slots"), reserve_at)
    else:
        fail(item, at, item.plain(), "{loop: DIM, tile: SIZE} or {keep: OPERAND, in: MEMORY, slots: N}")
    fields.end()
    return found


def _constraint(fields: Fields) -> Constraint:
    found = Constraint(
        layers=fields.text("layers"),
        units=fields.texts("units"),
        order=fields.texts("order"),
        tiles={dim: _tile(node, at) for dim, node, at in fields.entries("tiles")},
        stationary=fields.texts("stationary"),
        spatial={axis: texts_of(node, at) for axis, node, at in fields.entries("spatial")},
        place=f"{fields.node.mark}: {fields.path}",
    )
    fields.end()
    if not (found.units or found.order or found.tiles or found.stationary or found.spatial):
        fail(fields.node, fields.path, fields.node.plain(), "one or more of units, order, tiles, stationary, spatial")
    return found


def _tile(node: Node, path: str) -> int:
    size = integer_of(node, path)
    if size < 1:
        fail(node, path, size, "a tile size of 1 or more")
    return size
