"""Workload <-> YAML (schema ``archsim.einsums/1``).

tensors:
  x: input [1, 12, 12, 8]
layers:
- name: conv1
  op: Conv
  kind: matmul
  dims: {h: 12, w: 12, k: 16, r: 3, s: 3, c: 8}
  nest: m(h, w) n(k) k(r, s, c)
  inputs:
  - a = x(0, h+r-1, w+s-1, c) as inputs
  - b = w1(k, r, s, c) as weights
  output: out = y1(0, h, w, k) as outputs
  steps:
  - relu passes 1

Layers that come several times may be stated once, as a block (``blocks``); the Workload has them one by one.

The text is read and judged as a whole; what the checker of Workloads refuses is said with its place in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.base.errors import ConfigError, ModelError
from archsim.ir.check.workload import check_workload
from archsim.ir.forms.blocks import BLOCK, BlockReader, TextPlace
from archsim.ir.forms.composites import composite_form
from archsim.ir.forms.fields import MappingFields, open_form, to_yaml
from archsim.ir.forms.folding import Folding, longest_run
from archsim.ir.forms.layers import layer_form
from archsim.ir.forms.tensors import tensor_text, view_text
from archsim.ir.workload import Workload

SCHEMA = "archsim.einsums/1"
SPARED = (
    4  # a block is written where it spares this part of all layers, a quarter, or more: a text with one is read once
)


def workload_to_yaml(workload: Workload) -> str:
    """The text form; ``workload_from_yaml`` gives back an equal Workload (sequences in attributes as tuples).

    The longest run of equal blocks of layers is stated once, where their names are those that blocks give and a
    quarter of all layers or more is spared.
    """
    plain, run = _document(workload), longest_run(workload)
    if run is None or SPARED * (run.times - 1) * run.size < len(workload.layers):
        return to_yaml(plain)
    folding = Folding(workload, run)
    document = _document(folding.around)
    document["layers"].insert(run.first, {BLOCK: folding.block})
    text = to_yaml(document)
    try:
        found = _document(workload_from_yaml(text))
    except ConfigError:  # of layers that are called alike and are no block
        return to_yaml(plain)
    return text if repr(found) == repr(plain) else to_yaml(plain)  # orders of keys too


def _document(workload: Workload) -> dict[str, Any]:
    """The text form as plain data, layer by layer."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "name": workload.name,
        "batch": workload.batch,
        "parameters": workload.parameters,
        "sha256": workload.sha256,
        **({"dtype": workload.dtype} if workload.dtype else {}),
        **({"folded_macs": workload.folded_macs} if workload.folded_macs else {}),
        "tensors": {name: tensor_text(tensor) for name, tensor in workload.tensors.items()},
        "layers": [layer_form(layer) for layer in workload.layers],
    }
    if workload.composites:
        document["composites"] = [composite_form(each) for each in workload.composites]
    if workload.views:
        document["views"] = [view_text(view) for view in workload.views]
    if workload.warnings:
        document["warnings"] = list(workload.warnings)
    return document


def workload_from_yaml(text: str, path: str = "<text>") -> Workload:
    """The Workload of a text; raises ConfigError with file:line:column, key path and what is allowed."""
    return _read(open_form(text, path, SCHEMA))[0]


def checked_workload(text: str, path: str = "<text>") -> Workload:
    """The Workload of a text, checked. Raises ConfigError, and ModelError with the place of the layer or tensor."""
    fields = open_form(text, path, SCHEMA)
    workload, places = _read(fields)
    try:
        check_workload(workload)
    except ModelError as error:
        said = str(error)
        place = next((at for what, at in places.items() if said.startswith(what)), fields.node.mark)
        raise ModelError(f"{place}: {said}") from None
    return workload


def _read(fields: MappingFields) -> tuple[Workload, Mapping[str, TextPlace]]:
    """The Workload, and where each of its tensors, layers and composites is stated: ``layer 'conv1'``."""
    name = fields.text("name")
    reader = BlockReader(fields)
    scope = reader.scope(fields)
    workload = Workload(
        name=name,
        layers=tuple(layer for layer, _ in scope.layers),
        tensors=reader.tensors,
        views=tuple(scope.views),
        batch=fields.integer("batch"),
        parameters=fields.integer("parameters"),
        sha256=fields.text("sha256") if fields.has("sha256") else "",
        warnings=fields.texts("warnings"),
        dtype=fields.text("dtype") if fields.has("dtype") else "",
        folded_macs=fields.integer("folded_macs") if fields.has("folded_macs") else 0,
        composites=tuple(composite for composite, _ in scope.composites),
    )
    fields.end()
    places: dict[str, TextPlace] = {f"tensor '{name}'": place for name, place in reader.places.items()}
    for layer, place in scope.layers:
        places.setdefault(f"layer '{layer.name}'", place)
    for composite, place in scope.composites:
        places.setdefault(f"composite '{composite.name}'", place)
    return workload, places
