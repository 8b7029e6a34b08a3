"""The sweep checker: schema ``archsim.sweep/1``, the file of ``archsim sweep``. Only the form is judged here.

schema: archsim.sweep/1
name: sram_vs_bandwidth
chip: edge_npu
models: [resnet50]
axes: {l1.size: [1 MiB, 2 MiB], dram.channels: {log2: [1, 8]}, clock: {range: [0.8 GHz, 1.4 GHz], steps: 4}}
zip: [[l1.size, l1.banks]]
constraints: ["area_mm2 <= 100"]
objectives: [latency_s]
fidelity: fast
search: {method: grid}
"""

from __future__ import annotations

import re
from decimal import Decimal

from archsim.errors import ConfigError, nearest
from archsim.ir.forms.fields import Fields, fail, open_form, text_of
from archsim.spec.nodes import Node

SCHEMA = "archsim.sweep/1"
FIDELITIES = ("cost", "fast", "exact")
METHODS = ("grid", "random", "qmc", "nsga2", "tpe")
_CONSTRAINT = re.compile(r"[a-z_][a-z0-9_.]*\s*(<=|>=|<|>|==)\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?")


def check_sweep(text: str, path: str = "<text>") -> None:
    """Accept the text of a sweep file or raise ConfigError with file:line:column, key path and what is allowed."""
    fields = open_form(text, path, SCHEMA)
    for key in ("name", "chip"):
        fields.text(key)
    _some(fields, "models")
    _some(fields, "objectives")
    axes = fields.entries("axes")
    if not axes:
        raise ConfigError(f"{fields.node.mark}: axes: missing; allowed key paths of the chip with their values")
    for _, node, at in axes:
        _check_axis(node, at)
    _check_zip(fields, {name: node for name, node, _ in axes})
    for node, at in fields.items("constraints"):
        if not _CONSTRAINT.fullmatch(text_of(node, at).strip()):
            fail(node, at, node.value, "a comparison such as 'area_mm2 <= 100'")
    if fields.has("fidelity"):
        fields.text("fidelity", FIDELITIES)
    if fields.has("search"):
        _check_search(Fields(fields.child("search"), "search"))
    fields.end()


def _some(fields: Fields, key: str) -> None:
    """A list of one text or more."""
    if not fields.texts(key):
        raise ConfigError(f"{fields.node.mark}: {key}: missing; allowed a list of one or more")


def _check_axis(node: Node, path: str) -> None:
    """A list of values, ``{log2: [low, high]}`` or ``{range: [low, high], steps: n}``."""
    if isinstance(node.value, list):
        if not node.items:
            fail(node, path, node.plain(), "one value or more")
        return
    fields = Fields(node, path)
    if fields.has("log2"):
        low, high = _ends(fields, "log2")
        if not isinstance(low, int) or not isinstance(high, int) or not 0 < low <= high:
            fail(node, path, node.plain(), "log2: [low, high] with integers 0 < low <= high")
    else:
        _ends(fields, "range")
        if fields.integer("steps") < 2:
            fail(fields.child("steps"), f"{path}.steps", fields.integer("steps"), "2 or more")
    fields.end()


def _ends(fields: Fields, key: str) -> tuple[object, object]:
    values = [node.value for node, _ in fields.items(key)]
    if len(values) != 2 or not all(isinstance(value, int | str | Decimal) for value in values):
        fail(fields.child(key), fields.at(key), fields.child(key).plain(), "[low, high]")
    return values[0], values[1]


def _check_zip(fields: Fields, axes: dict[str, Node]) -> None:
    """Axes that move together are listed above, have lists of one length, and are zipped once."""
    used: list[str] = []
    for group, at in fields.items("zip"):
        names = [text_of(item, at) for item in group.items]
        if len(names) < 2:
            fail(group, at, group.plain(), "a list of two axes or more")
        for name in names:
            if name in used:
                fail(group, at, name, "axes of this file that are not zipped yet")
            if name not in axes:
                fail(group, at, name, f"axes of this file{nearest(name, axes)}")
            used.append(name)
        lengths = [len(axes[name].items) for name in names]
        if min(lengths) < max(lengths) or not lengths[0]:
            fail(group, at, names, "axes given as lists of the same length")


def _check_search(fields: Fields) -> None:
    method = fields.text("method", METHODS)
    if fields.has("trials") and fields.integer("trials") < 1:
        fail(fields.child("trials"), "search.trials", 0, "1 or more")
    if method != "grid":
        fields.integer("trials")
    if fields.has("seed"):
        fields.integer("seed")
    fields.end()
