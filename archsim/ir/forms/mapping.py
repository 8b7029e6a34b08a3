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

Each key is defined once, in a table: how it is read, what it may be as JSON, what it means, its default. Mappings have
thousands of entries, which tables read fast; the JSON Schemas that editors take are made of the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from archsim.ir.asm.cursor import WordCursor
from archsim.ir.asm.words import quote
from archsim.ir.forms.fields import (
    MappingFields,
    OneLineList,
    OneLineMapping,
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
from archsim.ir.schedule import Group, Member, SharedKeep, SharedLoop, TensorWindow
from archsim.spec import json_forms as j
from archsim.spec.nodes import FileNode

REQUIRED = object()  # the default of keys that must be there


@dataclass(frozen=True)
class StatedKey:
    """A key: ``read`` takes it from the fields by its name and raises ConfigError, ``form`` is its JSON, ``says`` what
    it means."""

    read: Callable[[MappingFields, str], Any]
    form: j.Json
    says: str
    default: object = REQUIRED


StatedKeys = Mapping[str, StatedKey]


def read_keys(fields: MappingFields, keys: StatedKeys) -> dict[str, Any]:
    """The value of every key, in their order, defaults where they are absent; refuses keys that are none of them.

    Raises ConfigError with file:line:column.
    """
    found = {
        name: key.read(fields, name) if key.default is REQUIRED or fields.has(name) else key.default
        for name, key in keys.items()
    }
    fields.end()
    return found


def json_form(keys: StatedKeys, about: str) -> j.Json:
    """The keys as an object of a JSON Schema that takes no others."""
    return {
        "type": "object",
        "description": about,
        "properties": {name: {**key.form, "description": f"{key.says}."} for name, key in keys.items()},
        "required": [name for name, key in keys.items() if key.default is REQUIRED],
        "additionalProperties": False,
    }


def text(says: str, default: object = REQUIRED) -> StatedKey:
    """Any text."""
    return StatedKey(lambda fields, key: fields.text(key), {"type": "string"}, says, default)


def word(names: tuple[str, ...], says: str, default: object = REQUIRED) -> StatedKey:
    """One of some words."""
    return StatedKey(lambda fields, key: fields.text(key, names), j.words(names), says, default)


def texts(says: str) -> StatedKey:
    """A list of texts, () where it is absent."""
    return StatedKey(lambda fields, key: fields.texts(key), j.listed({"type": "string"}), says, ())


def integer(says: str, default: object = REQUIRED) -> StatedKey:
    """A whole number of 0 or more."""
    return StatedKey(lambda fields, key: fields.integer(key), {"type": "integer", "minimum": 0}, says, default)


SCHEMA = "archsim.mapping/1"
GROUPED = "archsim.mapping/2"  # with groups of layers
KINDS = ("matmul", "vector", "copy", "host")
GIVEN = "given"
FENCES = ("needed", "all")


def mapping_to_yaml(mapping: ModelMapping) -> str:
    """The text form; ``mapping_from_yaml`` gives back an equal ModelMapping."""
    digests = {"workload": mapping.workload_sha256, "chip": mapping.chip_sha256}
    document: dict[str, Any] = {
        "schema": GROUPED if mapping.groups else SCHEMA,
        "workload": mapping.workload,
        "chip": mapping.chip,
        **({"sha256": OneLineMapping(digests)} if any(digests.values()) else {}),
        "objective": mapping.objective,
        **({"schedule": mapping.schedule} if mapping.schedule else {}),
        **({"fences": mapping.fences} if mapping.fences != FENCES[0] else {}),
        "dtypes": OneLineMapping(mapping.dtypes),
        "placements": [placement_text(placement) for placement in mapping.placements],
        "layers": [_layer_form(layer) for layer in mapping.layers],
        **({"groups": [group_form(group) for group in mapping.groups]} if mapping.groups else {}),
    }
    return to_yaml(document)


def mapping_from_yaml(text: str, path: str = "<text>") -> ModelMapping:
    """The ModelMapping of a text; raises ConfigError with file:line:column, key path and what is allowed."""
    return mapping_file_from_yaml(text, path).mapping


def mapping_file_from_yaml(text: str, path: str = "<text>") -> MappingFile:
    """The mapping, constraints and places of a text; raises ConfigError as ``mapping_from_yaml``."""
    fields = open_form(text, path, SCHEMA, GROUPED)
    places: dict[str, str] = {}
    for key in ("layers", "placements", "dtypes", "objective", "groups", "schedule"):
        _note(fields, key, places)
    found = read_keys(fields, FILE_KEYS)
    if found["groups"] and fields.text("schema") == SCHEMA:
        fail(fields.child("groups"), fields.at("groups"), "groups", f"them with schema: {GROUPED}")
    for node, at in fields.items("layers"):
        for key in ("nodes", "resident"):
            _note(MappingFields(node, at), key, places)
    mapping = ModelMapping(
        workload=found["workload"],
        chip=found["chip"],
        objective=found["objective"],
        layers=found["layers"],
        placements=found["placements"],
        dtypes=found["dtypes"],
        workload_sha256=found["sha256"].get("workload", ""),
        chip_sha256=found["sha256"].get("chip", ""),
        fences=found["fences"],
        groups=found["groups"],
        schedule=found["schedule"],
    )
    return MappingFile(mapping, found["constraints"], places)


def json_root() -> j.Json:
    """A mapping file as JSON Schema."""
    return json_form(FILE_KEYS, "Mappings of layers, places of tensors, and constraints on the search.")


def _note(fields: MappingFields, key: str, places: dict[str, str]) -> None:
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


def read_placement(cursor: WordCursor) -> Placement:
    """A Placement from the words that ``placement_text`` makes."""
    tensor = cursor.name("a tensor")
    cursor.keyword(("in",), "the memory")
    memory = cursor.name("a memory")
    base = _number(cursor, "at", "a byte address")
    size = _number(cursor, "bytes", "a number of bytes")
    first = _number(cursor, "layers", "the number of the first layer")
    return Placement(tensor, memory, base, size, first, _number(cursor, "to", "the number of the last layer"))


def _number(cursor: WordCursor, word: str, what: str) -> int:
    cursor.keyword((word,), what)
    return cursor.integer(what)


def _layer_form(layer: LayerMapping) -> dict[str, Any]:
    form: dict[str, Any] = {
        "layer": layer.layer,
        "unit": layer.unit,
        "kind": layer.kind,
        "nodes": [OneLineMapping(node_form(node, index)) for index, node in enumerate(layer.nodes)],
    }
    if layer.resident:
        form["resident"] = OneLineList(layer.resident)
    counts = {key: getattr(layer, key) for key in ("bound_cycles", "expected_cycles", "space", "evaluated")}
    alone = {"simulated_cycles": layer.simulated_cycles} if layer.simulated_cycles else {}
    return form | counts | {"proof": layer.proof} | alone


def _layer(fields: MappingFields) -> LayerMapping:
    return LayerMapping(**read_keys(fields, LAYER_KEYS))


def node_form(node: MapNode, index: int) -> dict[str, Any]:
    """``{loop: h, tile: 5, axis: rows}``, ``{keep: a, in: l1, slots: 2, reserve_at: 3}``; ``index``: its place."""
    if isinstance(node, Loop):
        return {"loop": node.dim, "tile": node.tile, **({"axis": node.axis} if node.axis else {})}
    reserve = {"reserve_at": node.reserve_at} if node.reserve_at != index else {}
    return {"keep": node.operand, "in": node.level, "slots": node.slots, **reserve}


def _node(item: FileNode, at: str, index: int) -> MapNode:
    fields = MappingFields(item, at)
    if fields.has("loop"):
        found = read_keys(fields, LOOP_KEYS)
        return Loop(found["loop"], found["tile"], found["axis"])
    if not fields.has("keep"):
        fail(item, at, item.plain(), "{loop: DIM, tile: SIZE} or {keep: OPERAND, in: MEMORY, slots: N}")
    found = read_keys(fields, KEEP_KEYS)
    reserve_at = index if found["reserve_at"] is None else found["reserve_at"]
    return Keep(found["keep"], found["in"], found["slots"], reserve_at)


def group_form(group: Group) -> dict[str, Any]:
    """``{group: g0, shared: [{loop: project.p, tile: 4}], windows: [...], members: [{layer: expand, ahead: 2}]}``."""
    windows = [
        {"tensor": each.tensor, "in": each.level, "slots": each.slots, "dim": each.dim, "rows": each.rows,
         "step": each.step}
        for each in group.windows
    ]  # fmt: skip
    members = [{"layer": each.layer, "ahead": each.ahead} for each in group.members]
    return {
        "group": group.name,
        "shared": [OneLineMapping(_shared_form(each)) for each in group.shared],
        "windows": [OneLineMapping(each) for each in windows],
        "members": [OneLineMapping(each) for each in members],
    }


def _shared_form(entry: SharedLoop | SharedKeep) -> dict[str, Any]:
    if isinstance(entry, SharedLoop):
        return {"loop": f"{entry.layer}.{entry.dim}", "tile": entry.tile}
    return {"keep": f"{entry.layer}.{entry.operand}", "in": entry.level, "slots": entry.slots}


def _group(fields: MappingFields) -> Group:
    found = read_keys(fields, GROUP_KEYS)
    return Group(found["group"], found["members"], found["shared"], found["windows"])


def _shared(item: FileNode, at: str) -> SharedLoop | SharedKeep:
    fields = MappingFields(item, at)
    if fields.has("loop"):
        found = read_keys(fields, SHARED_LOOP_KEYS)
        return SharedLoop(*_of_layer(fields, "loop", found["loop"]), found["tile"])
    found = read_keys(fields, SHARED_KEEP_KEYS)
    return SharedKeep(*_of_layer(fields, "keep", found["keep"]), found["in"], found["slots"])


def _of_layer(fields: MappingFields, key: str, name: str) -> tuple[str, str]:
    """The layer and the dim or operand of a name; layers may have dots in theirs."""
    layer, _, what = name.rpartition(".")
    if not layer:
        fail(fields.child(key), fields.at(key), name, f"LAYER.{'DIM' if key == 'loop' else 'OPERAND'}")
    return layer, what


def _window(fields: MappingFields) -> TensorWindow:
    found = read_keys(fields, WINDOW_KEYS)
    return TensorWindow(found["tensor"], found["in"], found["slots"], found["dim"], found["rows"], found["step"])


def _constraint(fields: MappingFields) -> Constraint:
    found = Constraint(**read_keys(fields, CONSTRAINT_KEYS), place=f"{fields.node.mark}: {fields.path}")
    if not (found.units or found.order or found.tiles or found.stationary or found.spatial):
        fail(fields.node, fields.path, fields.node.plain(), "one or more of units, order, tiles, stationary, spatial")
    return found


def _tile(node: FileNode, path: str) -> int:
    size = integer_of(node, path)
    if size < 1:
        fail(node, path, size, "a tile size of 1 or more")
    return size


def _table(of: Callable[[FileNode, str], Any], form: j.Json, says: str) -> StatedKey:
    """A mapping of names to values of a kind, {} where it is absent."""

    def read(fields: MappingFields, key: str) -> dict[str, Any]:
        return {name: of(node, at) for name, node, at in fields.entries(key)}

    return StatedKey(read, {"type": "object", "additionalProperties": form}, says, {})


def _list(of: Callable[[FileNode, str, int], Any], form: j.Json, says: str) -> StatedKey:
    """A list of values of a kind (node, key path and number in the list), () where it is absent."""

    def read(fields: MappingFields, key: str) -> tuple[Any, ...]:
        return tuple(of(node, at, number) for number, (node, at) in enumerate(fields.items(key)))

    return StatedKey(read, j.listed(form), says, ())


_TEXT: j.Json = {"type": "string"}
_PLACED = {"type": "string", "pattern": r"^.+ in .+ at \S+ bytes \S+ layers \S+ to \S+$"}
LOOP_KEYS: StatedKeys = {
    "loop": text("dim that is iterated"),
    "tile": integer("indices of an iteration"),
    "axis": text("network that the iterations are spread over; absent: one after the other", ""),
}
KEEP_KEYS: StatedKeys = {
    "keep": text("operand whose tile is held below"),
    "in": text("memory that holds it"),
    "slots": integer("tiles of it that the memory holds at a time; 0: as a whole"),
    "reserve_at": integer("number of the node from which its place is held; its own unless it slides", None),
}
_NODE = j.any_of(json_form(LOOP_KEYS, "A loop in tiles of a dim."), json_form(KEEP_KEYS, "A tile held in a memory."))
LAYER_KEYS: StatedKeys = {
    "layer": text("name of the layer"),
    "unit": text("part that runs it"),
    "kind": word(KINDS, "kind of its commands"),
    "nodes": _list(_node, _NODE, "its loops and keeps, outermost first"),
    "resident": texts("operands that lie on chip as a whole"),
    "bound_cycles": integer("lower bound of its cycles, as a search found it", 0),
    "expected_cycles": integer("cycles that a search expects", 0),
    "space": integer("candidates that a search counted", 0),
    "evaluated": integer("those of them that were legal", 0),
    "simulated_cycles": integer("cycles of the layer alone where it was simulated, else 0", 0),
    "proof": text("how far the search went", GIVEN),
}
CONSTRAINT_KEYS: StatedKeys = {
    "layers": text("pattern of layer names (*, ?, [...])"),
    "units": texts("units that may run them"),
    "order": texts("dims whose loops stand in this order, outermost first"),
    "tiles": _table(_tile, {"type": "integer", "minimum": 1}, "tile size by dim, beside those that the search tries"),
    "stationary": texts("operands of which no byte comes in twice"),
    "spatial": _table(texts_of, j.listed(_TEXT), "dims that may be spread, by axis of the array"),
}
SHARED_LOOP_KEYS: StatedKeys = {
    "loop": text("dim of the last member, LAYER.DIM"),
    "tile": integer("indices of a pass"),
}
SHARED_KEEP_KEYS: StatedKeys = {
    "keep": text("operand of a member whose tile is held over the loops below, LAYER.OPERAND"),
    "in": text("memory that holds it"),
    "slots": integer("tiles of it that the memory holds at a time"),
}
_SHARED = j.any_of(
    json_form(SHARED_LOOP_KEYS, "A loop over passes."), json_form(SHARED_KEEP_KEYS, "A tile held over passes.")
)
WINDOW_KEYS: StatedKeys = {
    "tensor": text("that one member makes and others read"),
    "in": text("memory that holds it"),
    "slots": integer("passes that it has room for"),
    "dim": text("dim of the layer that makes it along which it moves on; follows from the rest", ""),
    "rows": integer("positions that can be read at once; follows from the rest", 0),
    "step": integer("positions that are new in a pass; follows from the rest", 0),
}
MEMBER_KEYS: StatedKeys = {
    "layer": text("name of the layer"),
    "ahead": integer("passes that it is ahead of the last member", 0),
}
GROUP_KEYS: StatedKeys = {
    "group": text("name of the group"),
    "shared": _list(
        lambda node, at, _: _shared(node, at), _SHARED, "loops over passes, and what is held over them, outermost first"
    ),
    "windows": _list(
        lambda node, at, _: _window(MappingFields(node, at)),
        json_form(WINDOW_KEYS, "The place of a tensor between members."),
        "places of tensors between members",
    ),
    "members": _list(
        lambda node, at, _: Member(**read_keys(MappingFields(node, at), MEMBER_KEYS)),
        json_form(MEMBER_KEYS, "A layer of the group."),
        "its layers in order; the mapping of each, below the shared loops, is under layers",
    ),
}
_RESTRICTS = [{"required": [key]} for key in CONSTRAINT_KEYS if key != "layers"]
FILE_KEYS: StatedKeys = {
    "schema": word((SCHEMA, GROUPED), "version of this grammar: 2 has groups"),
    "workload": text("name of the model that it was made for", ""),
    "chip": text("name of the chip that it was made for", ""),
    "sha256": _table(text_of, _TEXT, "SHA-256 of the two"),
    "objective": text("what was minimised", ""),
    "schedule": text("schedule policy that it obeys", ""),
    "fences": word(FENCES, "which commands of earlier layers a command waits for", FENCES[0]),
    "dtypes": _table(text_of, _TEXT, "number format by role"),
    "placements": _list(
        lambda node, at, _: phrase_of(node, at, read_placement), _PLACED, "where tensors lie, while which layers run"
    ),
    "layers": _list(
        lambda node, at, _: _layer(MappingFields(node, at)),
        json_form(LAYER_KEYS, "The mapping of a layer."),
        "mappings of layers",
    ),
    "groups": _list(
        lambda node, at, _: _group(MappingFields(node, at)),
        json_form(GROUP_KEYS, "Layers that run together, pass by pass."),
        "layers that run together; every other layer runs by itself",
    ),
    "constraints": _list(
        lambda node, at, _: _constraint(MappingFields(node, at)),
        {**json_form(CONSTRAINT_KEYS, "What mappings of some layers must meet."), "anyOf": _RESTRICTS},
        "what the search must meet",
    ),
}
