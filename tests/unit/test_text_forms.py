"""YAML forms of Workload and ModelMapping: exact inverses for any content, and errors with file:line and key path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ConfigError
from archsim.ir.mapping import Keep, LayerMapping, Loop, ModelMapping, Placement
from archsim.ir.text import mapping_from_yaml, mapping_to_yaml, workload_from_yaml, workload_to_yaml
from archsim.ir.workload import Axis, Guard, Layer, Operand, Tensor, VectorStep, View, ViewNode, Workload
from tests.laws.program_strategies import functions
from tests.unit.fixtures_check import GOLDEN

LAWS = settings(max_examples=40, deadline=None, derandomize=True)
ODD = [
    "conv1",
    "/f/0",
    "x:0",
    "no",
    "1.5e3",
    "null",
    "",
    " a ",
    "0x1F",
    "12",
    "a, b",
    "[",
    "{x}",
    "# c",
    "é",
    "on",
    "-",
]
NAMES = st.sampled_from(ODD) | st.text(max_size=4)
COUNTS = st.integers(0, 9) | st.integers(0, 2**40)
INTEGERS = st.integers(-9, 9)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES
KINDS = ["matmul", "vector", "copy", "host"]


def tuples(values: st.SearchStrategy[Any], maximum: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=maximum).map(tuple)


@st.composite
def operands(draw: st.DrawFn, dims: list[str]) -> Operand:
    terms = tuples(st.tuples(st.sampled_from(dims), INTEGERS)) if dims else st.just(())
    return Operand(draw(NAMES), draw(NAMES), draw(NAMES), draw(tuples(st.builds(Axis, terms, INTEGERS))))


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    dims = draw(st.dictionaries(NAMES, COUNTS, max_size=3))
    parts = tuples(st.sampled_from(list(dims))) if dims else st.just(())
    some = st.lists(functions(), min_size=1, max_size=2).map(tuple)
    terms = tuples(st.tuples(st.sampled_from(list(dims)), INTEGERS)) if dims else st.just(())
    return Layer(
        name=draw(NAMES),
        op=draw(NAMES),
        kind=draw(st.sampled_from(KINDS)),
        dims=dims,
        inputs=draw(tuples(operands(list(dims)))),
        output=draw(operands(list(dims))),
        m=draw(parts),
        n=draw(parts),
        k=draw(parts),
        batch=draw(parts),
        whole=draw(tuples(NAMES)),
        steps=draw(tuples(st.builds(VectorStep, some, INTEGERS, tuples(NAMES)))),
        guards=draw(tuples(st.builds(Guard, st.builds(Axis, terms, INTEGERS), INTEGERS))),
        fused=draw(tuples(NAMES)),
        attributes=draw(st.dictionaries(NAMES, PLAIN | tuples(PLAIN), max_size=2)),
    )


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    view = st.none() | st.builds(View, NAMES, INTEGERS, tuples(INTEGERS))
    kind = st.sampled_from(["input", "weight", "activation", "output"])
    names = draw(st.lists(NAMES, max_size=2, unique=True))
    return Workload(
        name=draw(NAMES),
        layers=draw(tuples(layers())),
        tensors={
            name: Tensor(name, *draw(st.tuples(tuples(COUNTS, 3), kind, tuples(INTEGERS), view))) for name in names
        },
        views=draw(tuples(st.builds(ViewNode, NAMES, NAMES, NAMES))),
        batch=draw(COUNTS),
        parameters=draw(COUNTS),
        sha256=draw(NAMES),
        warnings=draw(tuples(NAMES)),
    )


@given(workload=workloads())
@LAWS
def test_workload_round_trips(workload: Workload) -> None:
    text = workload_to_yaml(workload)
    assert workload_from_yaml(text) == workload
    assert workload_to_yaml(workload_from_yaml(text)) == text


def mappings() -> st.SearchStrategy[ModelMapping]:
    loop = st.builds(Loop, NAMES, COUNTS, NAMES)
    keep = st.builds(Keep, NAMES, NAMES, COUNTS, COUNTS)
    counts = (COUNTS,) * 3
    layer = st.builds(
        LayerMapping, NAMES, NAMES, st.sampled_from(KINDS), tuples(loop | keep, 4), tuples(NAMES), *counts, NAMES
    )
    placement = st.builds(Placement, NAMES, NAMES, *(INTEGERS,) * 4)
    dtypes = st.dictionaries(NAMES, NAMES, max_size=2)
    return st.builds(ModelMapping, NAMES, NAMES, NAMES, tuples(layer), tuples(placement), dtypes, NAMES, NAMES)


@given(mapping=mappings())
@LAWS
def test_mapping_round_trips(mapping: ModelMapping) -> None:
    text = mapping_to_yaml(mapping)
    assert mapping_from_yaml(text) == mapping
    assert mapping_to_yaml(mapping_from_yaml(text)) == text


ERRORS: list[tuple[str, str, str, str]] = [
    (
        "workload.yaml",
        "archsim.einsums/1",
        "archsim.einsums/2",
        ":2:1: schema: found 'archsim.einsums/2'; allowed archsim",
    ),
    ("workload.yaml", "batch: 1", "batch: one", ":4:1: batch: found 'one'; allowed an integer of 0 or more"),
    ("workload.yaml", "name: conv_pair", "nam: conv_pair", "name: missing"),
    ("workload.yaml", "parameters: 1296", "parameters: 1296\nparametrs: 2", ":6:1: parametrs: unknown key; allowed"),
    (
        "workload.yaml",
        "x: input [1",
        "x: inptu [1",
        "input, weight, activation, output, state, found 'inptu' (did you mean",
    ),
    ("workload.yaml", "kind: matmul", "kind: matmult", "layers[0].kind: found 'matmult'; allowed matmul, vector, copy"),
    (
        "workload.yaml",
        "h+r-1",
        "h+q-1",
        "expected a number or a variable (c, h, k, r, s, w), found 'q' in layers[0].inputs[0]",
    ),
    ("workload.yaml", "as inputs", "is inputs", "expected 'as' and the role, found 'is'"),
    ("workload.yaml", "nest: m(h, w)", "nest: m(h, z)", "expected an extent (c, h, k, r, s, w), found 'z'"),
    ("workload.yaml", "relu passes 1", "relu passes", "expected a number of passes, found the end of the line"),
    ("workload.yaml", "'{\"kernel", "'{kernel", "layers[0].attributes: found"),
    ("workload.yaml", "  fused: [relu1]", "  fused: relu1", "layers[0].fused: found 'relu1'; allowed a list"),
    ("workload.yaml", "dims: {h: 12", "dims: {h: -12", "layers[0].dims.h: found -12; allowed an integer of 0 or more"),
    ("mapping.yaml", "{loop: h, tile: 5}", "{loop: h, tile: five}", "layers[0].nodes[3].tile: found 'five'; allowed"),
    ("mapping.yaml", "{loop: h, tile: 5}", "{loop: h, tiles: 5}", "layers[0].nodes[3].tile: missing"),
    ("mapping.yaml", "{keep: acc, in", "{keap: acc, in", "layers[0].nodes[6]: found {'keap': 'acc'"),
    ("mapping.yaml", "reserve_at: 4", "reserve: 4", "layers[0].nodes[2].reserve: unknown key; allowed"),
    ("mapping.yaml", "layers 0 to 0", "layers 0 - 0", "expected 'to' and the number of the last layer, found '-'"),
    ("mapping.yaml", "proof:", "prof:", "layers[0].prof: unknown key; allowed"),
    ("mapping.yaml", "  unit: mxu", "  units: mxu", "layers[0].unit: missing"),
]
READERS: dict[str, Callable[[str, str], object]] = {
    "workload.yaml": workload_from_yaml,
    "mapping.yaml": mapping_from_yaml,
}


@pytest.mark.parametrize(("file", "old", "new", "message"), ERRORS, ids=[new for _, _, new, _ in ERRORS])
def test_errors(file: str, old: str, new: str, message: str) -> None:
    text = (GOLDEN / file).read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(ConfigError) as error:
        READERS[file](text.replace(old, new, 1), file)
    assert str(error.value).startswith(f"{file}:")
    assert message in str(error.value)
