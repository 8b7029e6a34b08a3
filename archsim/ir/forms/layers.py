"""A layer of a Workload <-> its mapping in the text form, as ``archsim.ir.forms.workload`` shows one."""

from __future__ import annotations

import json
from typing import Any

from archsim.ir.asm.cursor import WordCursor
from archsim.ir.asm.fragments import CommandScope, read_affine, read_functions, read_nest
from archsim.ir.asm.lookup import read_indices
from archsim.ir.asm.printer import nest_text
from archsim.ir.asm.words import affine_text, functions_text, indices_text, quote
from archsim.ir.forms.fields import MappingFields, OneLineList, OneLineMapping, integer_of, json_of, phrase_of
from archsim.ir.program import Affine, MatmulNest
from archsim.ir.workload import Axis, Bound, Guard, Layer, Operand, Rows, VectorStep

KINDS = ("matmul", "vector", "copy", "host")
COMPARISONS = ("<=", ">=", "<", ">")


def layer_form(layer: Layer) -> dict[str, Any]:
    """The keys of a layer with what they hold; those that are not needed are left out."""
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


def read_layer(fields: MappingFields) -> Layer:
    """The layer that a mapping of the text states; raises ConfigError with file:line:column and key path."""
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
