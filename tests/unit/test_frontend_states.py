"""States of workload files: declared with their room and rows, appended to, each round its own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.load import load_model
from archsim.ir.check.workload import check_workload
from archsim.ir.workload import StateRows, Tensor, View, Workload
from archsim.lab.files import schemas
from archsim.spec.nodes import parse

DECODE = """\
schema: archsim.workload/1
name: decode
parameters: {batch: 2, context: 16, past: 5, new: 3, heads: 2, width: 8, rounds: 2}
inputs: {x: [batch, new, heads * width]}
layers:
  - repeat: rounds
    name: layer
    carry: h
    states:
      keys: {shape: [batch, heads, context, width], past: past}
      values: {shape: [context, batch, heads * width], past: past, axis: 0}
    layers:
      - einsum: {name: q, equation: "b s k, k h d -> b h s d", input: h, sizes: {h: heads, d: width}}
      - einsum: {name: k, equation: "b s k, k h d -> b h s d", input: h, sizes: {h: heads, d: width}}
      - einsum: {name: v, equation: "b s k, k n -> s b n", input: h, sizes: {n: heads * width}}
      - append: {name: all_k, state: keys, input: k}
      - append: {name: all_v, state: values, input: v}
      - reshape: {name: by_heads, shape: [past + new, batch, heads, width]}
      - einsum: {name: scores, equation: "b h s d, b h t d -> b h s t", inputs: [q, all_k]}
      - softmax: {name: shares}
      - einsum: {name: context, equation: "b h s t, t b h d -> b s h d", inputs: [shares, by_heads]}
      - einsum: {name: out, equation: "b s h d, h d n -> b s n", sizes: {n: heads * width}}
"""


def loaded(folder: Path, text: str = DECODE, **parameters: int) -> Workload:
    path = folder / "w.yaml"
    path.write_text(text, encoding="utf-8")
    workload = load_model(path, parameters=parameters)
    check_workload(workload)
    return workload


def test_each_round_appends_to_states_of_its_own(tmp_path: Path) -> None:
    workload = loaded(tmp_path)
    states = {name: tensor for name, tensor in workload.tensors.items() if tensor.state is not None}
    assert {name: (tensor.shape, tensor.state) for name, tensor in states.items()} == {
        f"layer.{number}.{name}": (shape, StateRows(axis, 5))
        for number in range(2)
        for name, shape, axis in (("keys", (2, 2, 16, 8), 2), ("values", (16, 2, 16), 0))
    }
    written = [layer for layer in workload.layers if layer.output.role == "kv"]
    assert [layer.name for layer in written] == ["layer.0.k", "layer.0.v", "layer.1.k", "layer.1.v"]
    read = [(layer.name, op.name) for layer in workload.layers for op in layer.inputs if op.role == "kv"]
    assert read == [(f"layer.{number}.{name}", "b") for number in range(2) for name in ("scores", "context")]
    assert {layer.dims["t"] for layer in workload.layers if "t" in layer.dims} == {8}
    assert not [layer for layer in workload.layers if layer.kind == "copy"]


def test_past_moves_what_is_read(tmp_path: Path) -> None:
    for past, new in ((0, 1), (0, 16), (15, 1), (7, 2)):
        workload = loaded(tmp_path, past=past, new=new)
        (scores,) = (layer for layer in workload.layers if layer.name == "layer.1.scores")
        assert (scores.dims["s"], scores.dims["t"]) == (new, past + new)


def test_a_file_may_have_states_for_all_rounds(tmp_path: Path) -> None:
    text = (
        "schema: archsim.workload/1\nname: w\ninputs: {x: [1, 2, 4]}\n"
        "states: {kept: {shape: [1, 8, 4], past: 3}, full: {shape: [1, 6, 4], past: 6}}\nlayers:\n"
        "  - append: {name: all, state: kept}\n"
        '  - einsum: {name: y, equation: "b s d, b t d -> b s t", inputs: [all, full]}\n'
    )
    workload = loaded(tmp_path, text)
    assert [(layer.name, layer.kind) for layer in workload.layers] == [("all", "copy"), ("y", "matmul")]
    assert {op.name: op.role for op in workload.layers[1].inputs} == {"a": "kv", "b": "kv"}


WRONG = [
    ("past: past}", "past: past, rows: 3}", "10:65: layers[0].repeat.states.keys.rows: unknown key 'rows'"),
    ("past: past}", "past: 17}", "keys.past: found 17; allowed 0 to 16, the rows that it has room for"),
    ("past: past}", "past: -1}", "keys.past: found -1; allowed 0 or more"),
    ("past: past, axis: 0}", "past: past, axis: 3}", "values.axis: found 3; allowed -3 to 2"),
    ("keys: {shape: [batch, heads, context, width], past: past}", "keys: 3", "keys: found 3; allowed {shape, axis"),
    ("{shape: [batch, heads, context, width], past: past}", "{past: 3}", "keys: key 'shape' is missing"),
    ("state: keys", "state: h", "append.state: 'x' is no state; allowed layer.0.keys, layer.0.values"),
    ("state: keys", "state: keyz", "append.state: nothing is called 'keyz'"),
    ("state: values", "state: keys", "rows of shape"),
    ("input: k}", "input: q}\n      - append: {name: twice, state: keys, input: k}", "as 'layer.0.all_k' does"),
    ("- softmax: {", "- act: {name: raw, input: keys, function: relu}\n      - softmax: {input: scores, ",
     "reads all of 'layer.0.keys', of which 5 rows are there"),
    ("inputs: {x:", "states: {x: {shape: [1, 2]}}\ninputs: {x:", "the name 'x' is used before"),
    ("context: 16", "context: 7", "appends rows 5 to 7 to 'layer.0.keys', which has room for 7; give it "
     "room for 8 rows or more"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG)
def test_mistakes_stand_at_their_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in DECODE
    with pytest.raises((ConfigError, ModelError)) as caught:
        loaded(tmp_path, DECODE.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path / 'w.yaml'}:") and said in str(caught.value)


def test_the_schema_knows_states() -> None:
    validator = Draft202012Validator(json.loads(schemas.schema("workload")))
    document = json.loads(json.dumps(parse(DECODE).plain(), default=int))
    assert [error.message for error in validator.iter_errors(document)] == []
    for wrong in ({"k": {"past": 3}}, {"k": {"shape": [2], "rows": 1}}, ["k"]):
        assert not validator.is_valid({**document, "states": wrong})


def test_the_checker_of_workloads(tmp_path: Path) -> None:
    """What a text form could say of states and may not."""
    workload = loaded(tmp_path, rounds=1)
    keys, rows = "layer.0.keys", "layer.0.k"

    def altered(name: str, **changes: object) -> Workload:
        tensor: Tensor = replace(workload.tensors[name], **changes)  # type: ignore[arg-type]
        return replace(workload, tensors={**workload.tensors, name: tensor})

    view = workload.tensors[rows].view
    assert view is not None
    later = (workload.layers[0], *workload.layers[2:], workload.layers[1])
    for wrong, said in (
        (altered(keys, state=None), "is of kind state; allowed 'axis A past N'"),
        (altered("x", state=StateRows(0, 0)), "tensor 'x' is of kind input; allowed"),
        (altered(keys, state=StateRows(4, 0)), "along axis 4 of 4"),
        (altered(keys, state=StateRows(2, 17)), "17 rows are there; allowed 0 to 16"),
        (altered(rows, kind="activation"), "is a view of 'layer.0.keys'; allowed kind state"),
        (altered(rows, state=StateRows(2, 5)), "allowed kind state where that is one, without rows"),
        (altered(rows, view=View(keys, 4 * 8, view.strides)), "writes row 4 of 'layer.0.keys', of which 5 are there"),
        (altered("layer.0.all_k", view=View(keys, 8, view.strides)), "reads row 8 of 'layer.0.keys', which has 8"),
        (replace(workload, layers=later), r"reads row 7 of 'layer.0.keys', which has 5 by then; append it before"),
    ):
        with pytest.raises(ModelError, match=said):
            check_workload(wrong)
