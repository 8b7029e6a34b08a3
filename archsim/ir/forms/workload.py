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

The text is read and judged as a whole; what the checker of Workloads refuses is said with its place in the file.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, get_args

from archsim.base.errors import ModelError
from archsim.ir.asm.cursor import WordCursor
from archsim.ir.asm.fragments import CommandScope, read_affine, read_functions, read_nest
from archsim.ir.asm.lookup import read_indices
from archsim.ir.asm.printer import nest_text
from archsim.ir.asm.words import affine_text, functions_text, indices_text, quote
from archsim.ir.check.workload import check_workload
from archsim.ir.composites import KINDS as COMPOSITE_KINDS
from archsim.ir.composites import Composite
from archsim.ir.forms.fields import (
    MOST,
    MappingFields,
    OneLineList,
    OneLineMapping,
    integer_of,
    json_of,
    open_form,
    phrase_of,
    to_yaml,
)
from archsim.ir.program import Affine, MatmulNest
from archsim.ir.workload import (
    Axis,
    Bound,
    Guard,
    Layer,
    Operand,
    Rows,
    StateRows,
    Tensor,
    TensorKind,
    VectorStep,
    View,
    ViewNode,
    Workload,
)
from archsim.spec.nodes import FileNode, parse

SCHEMA = "archsim.einsums/1"
KINDS = ("matmul", "vector", "copy", "host")
COMPARISONS = ("<=", ">=", "<", ">")


def workload_to_yaml(workload: Workload) -> str:
    """The text form; ``workload_from_yaml`` gives back an equal Workload (sequences in attributes as tuples)."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "name": workload.name,
        "batch": workload.batch,
        "parameters": workload.parameters,
        "sha256": workload.sha256,
        **({"dtype": workload.dtype} if workload.dtype else {}),
        **({"folded_macs": workload.folded_macs} if workload.folded_macs else {}),
        "tensors": {name: _tensor_text(tensor) for name, tensor in workload.tensors.items()},
        "layers": [_layer_form(layer) for layer in workload.layers],
    }
    if workload.composites:
        document["composites"] = [
            {"name": each.name, "kind": each.kind, "layers": OneLineList(each.members)} for each in workload.composites
        ]
    if workload.views:
        document["views"] = [f"{quote(v.name)} = {quote(v.op)} of {quote(v.of)}" for v in workload.views]
    if workload.warnings:
        document["warnings"] = list(workload.warnings)
    return to_yaml(document)


def workload_from_yaml(text: str, path: str = "<text>") -> Workload:
    """The Workload of a text; raises ConfigError with file:line:column, key path and what is allowed."""
    fields = open_form(text, path, SCHEMA)
    workload = Workload(
        name=fields.text("name"),
        layers=tuple(_layer(MappingFields(node, at)) for node, at in fields.items("layers")),
        tensors={name: phrase_of(node, at, partial(_tensor, name)) for name, node, at in fields.entries("tensors")},
        views=tuple(phrase_of(node, at, _view_node) for node, at in fields.items("views")),
        batch=fields.integer("batch"),
        parameters=fields.integer("parameters"),
        sha256=fields.text("sha256") if fields.has("sha256") else "",
        warnings=fields.texts("warnings"),
        dtype=fields.text("dtype") if fields.has("dtype") else "",
        folded_macs=fields.integer("folded_macs") if fields.has("folded_macs") else 0,
        composites=tuple(_composite(MappingFields(node, at)) for node, at in fields.items("composites")),
    )
    fields.end()
    return workload


def _composite(fields: MappingFields) -> Composite:
    kind: Any = fields.text("kind", COMPOSITE_KINDS)
    composite = Composite(fields.text("name"), kind, fields.texts("layers"))
    fields.end()
    return composite


def _tensor_text(tensor: Tensor) -> str:
    text = f"{tensor.kind} {list(tensor.shape)}"
    if tensor.logical:
        text += f" logical {list(tensor.logical)}"
    if tensor.state is not None:
        text += f" axis {tensor.state.axis} past {tensor.state.past}"
    if tensor.format:
        text += f" format {quote(tensor.format)}"
    if tensor.view is not None:
        view = tensor.view
        text += f" view {quote(view.base)} offset {view.offset} strides {list(view.strides)}"
    return text


def _tensor(name: str, cursor: WordCursor) -> Tensor:
    kind: Any = cursor.keyword(get_args(TensorKind), "a kind")
    shape = _integers(cursor)
    logical = _integers(cursor) if cursor.skip_if("logical") else ()
    state = _state(cursor) if cursor.skip_if("axis") else None
    stated = cursor.name("a number format") if cursor.skip_if("format") else ""
    return Tensor(name, shape, kind, logical, _view(cursor) if cursor.skip_if("view") else None, state, stated)


def _state(cursor: WordCursor) -> StateRows:
    axis = cursor.integer("a memory axis")
    cursor.keyword(("past",), "the rows that are there")
    return StateRows(axis, cursor.integer("a number of rows"))


def _view(cursor: WordCursor) -> View:
    base = cursor.name("a tensor")
    cursor.keyword(("offset",), "the offset in elements")
    offset = cursor.integer("an offset in elements")
    cursor.keyword(("strides",), "the strides in elements")
    return View(base, offset, _integers(cursor))


def _integers(cursor: WordCursor) -> tuple[int, ...]:
    return cursor.many("[", "]", lambda: cursor.integer("an integer"))


def _view_node(cursor: WordCursor) -> ViewNode:
    name = cursor.name("the name of a node")
    cursor.expect("=")
    op = cursor.name("an operator")
    cursor.keyword(("of",), "what it is a view of")
    return ViewNode(name, op, cursor.name("a name"))


def _layer_form(layer: Layer) -> dict[str, Any]:
    form: dict[str, Any] = {"name": layer.name, "op": layer.op, "kind": layer.kind, "dims": OneLineMapping(layer.dims)}
    nest = nest_text(MatmulNest(layer.m, layer.n, layer.k, layer.batch))
    optional: dict[str, Any] = {
        "nest": nest,
        "inputs": [_operand_text(operand) for operand in layer.inputs],
        "output": _operand_text(layer.output),
        "steps": [_step_text(step) for step in layer.steps],
        "whole": OneLineList(layer.whole),
        "guards": [_guard_text(guard) for guard in layer.guards],
        "bounds": [_bound_text(bound) for bound in layer.bounds],
        "fused": OneLineList(layer.fused),
        "attributes": json.dumps(dict(layer.attributes)) if layer.attributes else "",
    }
    return form | {key: value for key, value in optional.items() if value}


def _layer(fields: MappingFields) -> Layer:
    dims = {name: integer_of(node, at) for name, node, at in fields.entries("dims")}
    nest = MatmulNest((), (), ())
    if fields.has("nest"):
        nest = phrase_of(fields.child("nest"), fields.at("nest"), lambda c: read_nest(c, dims))
    kind: Any = fields.text("kind", KINDS)
    attributes = {}
    if fields.has("attributes"):
        attributes = json_of(fields.child("attributes"), fields.at("attributes"))
    layer = Layer(
        name=fields.text("name"),
        op=fields.text("op"),
        kind=kind,
        dims=dims,
        inputs=tuple(phrase_of(node, at, lambda c: _operand(c, dims)) for node, at in fields.items("inputs")),
        output=phrase_of(fields.child("output"), fields.at("output"), lambda c: _operand(c, dims)),
        m=nest.m,
        n=nest.n,
        k=nest.k,
        batch=nest.batch,
        whole=fields.texts("whole"),
        steps=tuple(phrase_of(node, at, _step) for node, at in fields.items("steps")),
        guards=tuple(phrase_of(node, at, lambda c: _guard(c, dims)) for node, at in fields.items("guards")),
        bounds=tuple(phrase_of(node, at, lambda c: _bound(c, dims)) for node, at in fields.items("bounds")),
        fused=fields.texts("fused"),
        attributes=attributes,
    )
    fields.end()
    return layer


def _operand_text(operand: Operand) -> str:
    axes = ", ".join(affine_text(Affine(axis.offset, axis.terms)) for axis in operand.axes)
    text = f"{quote(operand.name)} = {quote(operand.tensor)}({axes}) as {quote(operand.role)}"
    return text + (f" rows {operand.rows.axis} {indices_text(operand.rows.indices)}" if operand.rows else "")


def _operand(cursor: WordCursor, dims: dict[str, int]) -> Operand:
    name = cursor.name("the name of an operand")
    cursor.expect("=")
    tensor = cursor.name("a tensor")
    scope = CommandScope(tuple(dims), (), {}, ())
    axes = cursor.many("(", ")", lambda: read_affine(cursor, scope))
    cursor.keyword(("as",), "the role")
    role = cursor.name("a role")
    rows = Rows(cursor.integer("an axis"), read_indices(cursor)) if cursor.skip_if("rows") else None
    return Operand(name, tensor, role, tuple(Axis(axis.terms, axis.const) for axis in axes), rows)


def _guard_text(guard: Guard) -> str:
    return f"{affine_text(Affine(guard.axis.offset, guard.axis.terms))} of {guard.length}"


def _guard(cursor: WordCursor, dims: dict[str, int]) -> Guard:
    index = read_affine(cursor, CommandScope(tuple(dims), (), {}, ()))
    cursor.keyword(("of",), "the length of the axis")
    return Guard(Axis(index.terms, index.const), cursor.integer("the length of an axis"))


def _bound_text(bound: Bound) -> str:
    """``t <= s + 5``: what is taken off on the left."""
    left = tuple([(dim, -coefficient) for dim, coefficient in bound.axis.terms if coefficient < 0])
    right = tuple([term for term in bound.axis.terms if term[1] > 0])
    return f"{affine_text(Affine(0, left))} <= {affine_text(Affine(bound.axis.offset, right))}"


def _bound(cursor: WordCursor, dims: dict[str, int]) -> Bound:
    """``t <= s + 5``, with any of <=, <, >= and > between two sums of dims."""
    scope = CommandScope(tuple(dims), (), {}, ())
    left = read_affine(cursor, scope)
    sign = next((mark for mark in COMPARISONS if cursor.accept(mark)), "")
    if not sign:
        cursor.fail(f"one of {' '.join(COMPARISONS)}")
    right = read_affine(cursor, scope)
    less, more = (left, right) if sign in ("<=", "<") else (right, left)
    terms: dict[str, int] = {}
    for side, direction in ((less, -1), (more, 1)):
        for dim, coefficient in side.terms:
            terms[dim] = terms.get(dim, 0) + direction * coefficient
    strict = 1 if sign in ("<", ">") else 0
    return Bound(Axis(tuple((dim, step) for dim, step in terms.items() if step), more.const - less.const - strict))


def _step_text(step: VectorStep) -> str:
    slow = f" slow {', '.join(map(quote, step.slow))}" if step.slow else ""
    return f"{functions_text(step.functions)} passes {step.passes}{slow}"


def _step(cursor: WordCursor) -> VectorStep:
    functions = read_functions(cursor)
    cursor.keyword(("passes",), "lane passes per element")
    passes = cursor.integer("a number of passes")
    return VectorStep(functions, passes, cursor.names("a function") if cursor.skip_if("slow") else ())


def checked_workload(text: str, path: str = "<text>") -> Workload:
    """The Workload of a text, checked. Raises ConfigError, and ModelError with the place of the layer or tensor."""
    workload = workload_from_yaml(text, path)
    try:
        check_workload(workload)
    except ModelError as error:
        raise ModelError(f"{_place(parse(text, path, MOST), str(error))}: {error}") from None
    return workload


def _place(root: FileNode, said: str) -> str:
    """Where the layer or tensor stands that a message begins with; the document where it names none."""
    for name, node in root.mapping["tensors"].mapping.items():
        if said.startswith(f"tensor '{name}'"):
            return f"{node.mark}: tensors.{name}"
    for number, layer in enumerate(root.mapping["layers"].items):
        called = layer.mapping["name"].value
        if said.startswith(f"layer '{called}'"):
            return f"{layer.mark}: layers[{number}]"
    composites = root.mapping["composites"].items if "composites" in root.mapping else []
    for number, composite in enumerate(composites):
        if said.startswith(f"composite '{composite.mapping['name'].value}'"):
            return f"{composite.mark}: composites[{number}]"
    return str(root.mark)
