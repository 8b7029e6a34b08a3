"""Blocks of layers in the text form of Workloads: what they mean, what is refused and where, when they are written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.load import load_model
from archsim.ir.forms.workload import checked_workload, workload_from_yaml, workload_to_yaml
from archsim.ir.workload import View, Workload
from tests.unit.fixtures_check import GOLDEN as FOLDER

ROOT = Path(__file__).parents[2]
GOLDEN = (FOLDER / "workload_blocks.yaml").read_text(encoding="utf-8")
STATE = """schema: archsim.einsums/1
name: steps
batch: 1
parameters: 0
tensors:
  x: input [1, 4]
  keys: state [3, 4] axis 0 past 2
  new: state [1, 4] view keys offset 8 strides [4, 1]
  all: state [3, 4] view keys offset 0 strides [4, 1]
  y: output [1, 4]
layers:
- block:
    name: step
    times: 2
    carry: {y: x}
    own: [keys]
    layers:
    - name: append
      op: Append
      kind: copy
      dims: {r: 1, c: 4}
      inputs: ["in0 = x(r, c) as inputs"]
      output: out = new(r, c) as kv
    - name: sum
      op: ReduceSum
      kind: matmul
      dims: {m: 1, n: 4, k: 3}
      nest: m(m) n(n) k(k)
      inputs: ["a = x(m, n) as inputs", "b = keys(k, n) as kv"]
      output: out = y(m, n) as outputs
"""


def replaced(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


@pytest.fixture(scope="module")
def golden() -> Workload:
    return checked_workload(GOLDEN, "workload_blocks.yaml")


# what they mean -------------------------------------------------------------------------------------------------------


def test_layers_stand_one_by_one(golden: Workload) -> None:
    inner = ["norm", "up", "again[0].mix", "again[1].mix", "down"]
    assert [layer.name for layer in golden.layers] == [
        *(f"layers[{number}].{name}" for number in range(2) for name in inner),
        "head",
    ]
    assert golden.layers[1].fused == ("layers[0].relu",)
    assert [(each.name, each.members) for each in golden.composites] == [
        (f"layers[{number}].mlp", (f"layers[{number}].up", f"layers[{number}].down")) for number in range(2)
    ]


def test_what_each_layer_reads_and_writes(golden: Workload) -> None:
    """``x``, then the sum of the iteration before; ``w_mix`` is one for all; the head's view is of the last sum."""
    found = {layer.name: [*(one.tensor for one in layer.inputs), layer.output.tensor] for layer in golden.layers}
    assert found["layers[0].norm"] == ["x", "layers[0].scale", "layers[0].n"]
    assert found["layers[1].norm"] == ["layers[0].y", "layers[1].scale", "layers[1].n"]
    assert found["layers[1].again[0].mix"] == ["layers[1].u", "w_mix", "layers[1].again[0].v"]
    assert found["layers[1].again[1].mix"] == ["layers[1].again[0].v", "w_mix", "layers[1].again[1].v"]
    assert found["layers[1].down"] == ["layers[1].again[1].v", "layers[1].w_down", "layers[0].y", "layers[1].y"]
    view = golden.tensors["flat"].view
    assert view is not None and view.base == "layers[1].y" == golden.views[0].of
    assert golden.parameters == sum(each.elements for each in golden.tensors.values() if each.kind == "weight")


def test_states_have_their_views_with_them() -> None:
    """Also one that no layer names; an output that is carried on is one in the last iteration alone."""
    found = checked_workload(STATE)
    assert [*found.tensors] == ["x", *(f"step[{n}].{name}" for n in (0, 1) for name in ("keys", "new", "all", "y"))]
    assert [found.tensors[f"step[{number}].y"].kind for number in (0, 1)] == ["activation", "output"]
    bases = {tensor.view.base for tensor in found.tensors.values() if tensor.view is not None}
    assert bases == {"step[0].keys", "step[1].keys"}


def test_iterations_are_called_by_their_numbers(golden: Workload) -> None:
    """``*`` says where the number stands; outside the block each iteration's tensors have their names."""
    dotted = checked_workload(replaced(GOLDEN, "name: layers\n", "name: net.layers.*\n"))
    assert dotted.layers[2].name == "net.layers.0.again[0].mix"
    first = checked_workload(replaced(GOLDEN, "view y offset", "view layers[0].y offset"))
    assert first.tensors["flat"].view == replace(golden.tensors["flat"].view, base="layers[0].y")  # type: ignore[type-var]
    inner = checked_workload(replaced(GOLDEN, "- a = v(m, k)", '- a = "again[0].v"(m, k)'))
    assert inner.layers[9].inputs[0].tensor == "layers[1].again[0].v"


def test_one_iteration_is_one() -> None:
    found = checked_workload(replaced(GOLDEN, "times: 2", "times: 1"))
    assert [layer.name for layer in found.layers if ".again" not in layer.name] == [
        *("layers[0].norm", "layers[0].up", "layers[0].down", "head")
    ]


def test_a_block_reads_what_another_one_made() -> None:
    """By its plain name, also as what it carries on."""
    second = """- block:
    name: more
    times: 2
    carry: {q: y}
    layers:
    - name: relu
      op: Relu
      kind: vector
      dims: {m: 4, c: 16}
      inputs: ["in0 = y(m, c) as inputs"]
      output: out = q(m, c) as outputs
- name: head"""
    text = replaced(replaced(GOLDEN, "- name: head", second), "  z: output", "  q: activation [4, 16]\n  z: output")
    found = {layer.name: layer.inputs[0].tensor for layer in checked_workload(text).layers}
    assert (found["more[0].relu"], found["more[1].relu"]) == ("layers[1].y", "more[0].q")
    taken = replaced(text, "carry: {q: y}\n", "carry: {q: y}\n    own: [w_up]\n")
    with pytest.raises(
        ConfigError, match=r"own\[0\]: found 'w_up'; allowed a tensor of no other block; 'w_up' is made"
    ):
        checked_workload(taken)
    written = replaced(text, "out = q(m, c)", "out = n(m, c)")
    with pytest.raises(
        ConfigError, match=r"block.layers\[0\]: found 'relu writes n'; allowed a tensor of its own; 'n' is"
    ):
        checked_workload(written)
    twice = replaced(text, "name: more", "name: layers")
    with pytest.raises(
        ConfigError, match=r"layers\[1\].block.name: found 'layers'; allowed a name that no other block"
    ):
        checked_workload(twice)


# what is refused ------------------------------------------------------------------------------------------------------

ERRORS = [
    ("times: 2\n    carry: {y", "time: 2\n    carry: {y", ":22:3: layers[0].block.times: missing"),
    ("own: [scale,", "owns: [scale,", ":26:5: layers[0].block.owns: unknown key; allowed"),
    ("- block:\n", "- op: MatMul\n  block:\n", "layers[0].op: unknown key; allowed block"),
    ("- block:\n", "- blok:\n", ":22:3: layers[0].blok: unknown key; allowed block (did you mean 'block'?)"),
    ("times: 2", "times: 0", ":24:5: layers[0].block.times: found 0; allowed an integer of 1 or more"),
    ("times: 2", "times: true", "layers[0].block.times: found True; allowed an integer of 1 or more"),
    ("times: 2", "times: two", "layers[0].block.times: found 'two'; allowed an integer of 1 or more"),
    ("times: 2", "times: 900000", "found 900000; allowed so many that all blocks make at most 100,000 layers"),
    ("name: layers", "name: a.*.b.*", "layers[0].block.name: found 'a.*.b.*'; allowed one '*'"),
    ("{y: x}", "{n_: x}", ":25:13: layers[0].block.carry.n_: found 'n_'; allowed a tensor of the file"),
    ("{y: x}", "{y: xx}", "layers[0].block.carry.y: found 'xx'; allowed a tensor of the file"),
    ("{y: x}", "{w_up: x}", "layers[0].block.carry.w_up: found 'w_up'; allowed before the colon a tensor that a layer"),
    ("{y: x}", "{y: z}", "layers[0].block.carry.y: found 'z'; allowed behind the colon a tensor that layers"),
    ("{y: x}", "{y: n}", "layers[0].block.carry.y: found 'n'; allowed behind the colon a tensor that layers"),
    ("{y: x}", "{y: scale}", "layers[0].block.carry.y: found 'scale'; allowed behind the colon a tensor that layers"),
    ("{y: x}", "{y: x, n: x}", "layers[0].block.carry.n: found 'x'; allowed each tensor behind a colon once; 'y' is"),
    ("{y: x}", "{u: x}", "carry.u: found 'x [4, 16]'; allowed a tensor of the shape of 'u', [4, 24]"),
    (
        "[scale, w_up",
        "[scales, w_up",
        ":26:11: layers[0].block.own[0]: found 'scales'; allowed a tensor of the file (did",
    ),
    (
        "[scale, w_up",
        "[scale, u",
        "layers[0].block.own[1]: found 'u'; allowed weights, states, inputs and views; 'u' is",
    ),
    ("in0 = x(m, c)", "in0 = y(m, c)", ":28:7: layers[0].block.layers[0]: found 'norm reads y'; allowed what the same"),
    (
        "epilogue = x(",
        "epilogue = layers[0].y(",
        "layers[0].block.layers[3]: found 'down reads layers[0].y'; allowed what",
    ),
    ("  z: output", '  "layers[1].u": input [4]\n  z: output', "layers[0].block: found 'layers[1].u'; allowed a block"),
    ("    layers:\n    - name: norm", "    layers: []\n    old:\n    - name: norm", "layers[0].block.layers: found []"),
    ("dims: {m: 4, n: 24, k: 24}", "dims: {m: 4, n: 24, k: -1}", "block.layers[2].block.layers[0].dims.k: found -1"),
    ("layers: [up, down]", "layrs: [up, down]", "layers[0].block.composites[0].layrs: unknown key"),
]


@pytest.mark.parametrize(("old", "new", "message"), ERRORS, ids=[new for _, new, _ in ERRORS])
def test_what_is_wrong_is_told_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        workload_from_yaml(replaced(GOLDEN, old, new), "blocks.yaml")
    assert re.match(r"blocks\.yaml:\d+:\d+: ", str(error.value))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "n: 24, k: 16}",
            "n: 24, k: 16, j: 2}",
            "blocks.yaml:39:7: layers[0].block.layers[1]: layer 'layers[0].up' (MatMul)",
        ),
        (
            "b = w_mix(n, k)",
            "b = w_mx(n, k)",
            "layers[0].block.layers[2].block.layers[0]: layer 'layers[0].again[0].mix'",
        ),
        ("name: down", "name: up", "layers[0].block.layers[1]: layer 'layers[0].up' is there twice"),
        ("- name: head", "- name: layers[1].up", "layers[0].block.layers[1]: layer 'layers[1].up' is there twice"),
        ("w_up: weight [24", "w_up: weight [0", "blocks.yaml:13:3: tensors.w_up: tensor 'layers[0].w_up' has shape"),
        ("[up, down]", "[up, dwn]", "layers[0].block.composites[0]: composite 'layers[0].mlp': names 'layers[0].dwn'"),
    ],
)
def test_the_checker_names_the_place_in_the_block(old: str, new: str, message: str) -> None:
    with pytest.raises(ModelError) as error:
        checked_workload(replaced(GOLDEN, old, new), "blocks.yaml")
    assert message in str(error.value)


# when they are written ------------------------------------------------------------------------------------------------


def stated(text: str) -> int:
    """Layers that a text states."""
    return len(re.findall(r"^ *op: ", text, re.MULTILINE))


@pytest.mark.parametrize("model", ["llama3_8b:decode", "gpt2:prefill", "bert_base", "vit_b16"])
def test_models_are_written_with_their_block(model: str) -> None:
    """An eighth of the layers or less; read, it is the same Workload with its tensors in the same order."""
    workload = load_model(model)
    text = workload_to_yaml(workload)
    assert text.count("- block:\n") == 1 and 8 * stated(text) <= len(workload.layers)
    found = checked_workload(text)
    assert found == workload and [*found.tensors] == [*workload.tensors]
    assert workload_to_yaml(found) == text


@pytest.mark.parametrize("model", ["resnet50", "dlrm_small", "eye_tracking"])
def test_what_is_no_block_is_written_layer_by_layer(model: str) -> None:
    workload = load_model(model)
    text = workload_to_yaml(workload)
    assert "- block:\n" not in text and workload_from_yaml(text) == workload


def _changed(workload: Workload, how: str) -> Workload:
    """One thing of one iteration is another one."""
    layers, tensors = list(workload.layers), dict(workload.tensors)
    at = next(at for at, layer in enumerate(layers) if layer.name == "layers[1].up")
    if how == "layer":
        layers[at] = replace(layers[at], op="Other")
    if how == "dims":
        layers[at] = replace(layers[at], dims=dict([*layers[at].dims.items()][::-1]))
    if how == "fused":
        layers[at] = replace(layers[at], fused=("relu",))
    if how == "name":
        layers[at] = replace(layers[at], name="layers[1].more")
    if how == "tensor":
        tensors["layers[1].w_up"] = replace(tensors["layers[1].w_up"], logical=(1, 0))
    if how == "order":
        tensors["x"] = tensors.pop("x")
    if how == "shared":
        layers[at] = replace(layers[at], inputs=tuple(replace(one, tensor="w_mix") for one in layers[at].inputs))
    composites = workload.composites[::-1] if how == "composites" else workload.composites
    views = () if how == "views" else workload.views
    return replace(workload, layers=tuple(layers), tensors=tensors, composites=composites, views=views)


@pytest.mark.parametrize("how", ["layer", "fused", "name", "tensor", "shared", "composites"])
def test_blocks_that_differ_are_none(how: str, golden: Workload) -> None:
    changed = _changed(golden, how)
    text = workload_to_yaml(changed)
    assert not re.search(r"name: layers$", text, re.MULTILINE)
    assert workload_from_yaml(text) == changed != golden


def test_orders_that_differ_are_no_block(golden: Workload) -> None:
    """Dims in another order are the same layer, which is written as it is."""
    changed = _changed(golden, "dims")
    layers = {layer.name: [*layer.dims] for layer in workload_from_yaml(workload_to_yaml(changed)).layers}
    assert layers["layers[1].up"] == ["k", "n", "m"] != layers["layers[0].up"]


def test_a_block_of_a_small_part_is_written_layer_by_layer(golden: Workload) -> None:
    """It would have to spare a quarter of all layers; here are 5 of 20 spared, and of 21."""
    head = golden.layers[-1]
    few, many = (
        replace(golden, layers=(*golden.layers, *(replace(head, name=f"head{n}") for n in range(more))))
        for more in (9, 10)
    )
    assert "name: layers\n" in workload_to_yaml(few) and "- block:" not in workload_to_yaml(many)
    assert workload_from_yaml(workload_to_yaml(few)) == few and workload_from_yaml(workload_to_yaml(many)) == many


@pytest.mark.parametrize("how", ["order", "views", ""])
def test_what_is_around_a_block_may_be_anything(how: str, golden: Workload) -> None:
    changed = _changed(golden, how)
    text = workload_to_yaml(changed)
    found = workload_from_yaml(text)
    assert re.search(r"name: layers$", text, re.MULTILINE)
    assert found == changed and [*found.tensors] == [*changed.tensors]


NAMES = ["x", "y", "w_mix", "layers[0].y", "layers[1].y", "layers[1].u", "layers[0].w_up", "u", "layers[1].again[0].v"]
EDITS = st.tuples(
    st.sampled_from(["out", "in", "layer", "tensor", "base", "fused"]), st.integers(0, 10), st.sampled_from(NAMES)
)


def _edited(workload: Workload, edit: tuple[str, int, str]) -> Workload:
    """Something, wherever it stands, is called like something else."""
    what, at, name = edit
    layers, tensors = list(workload.layers), dict(workload.tensors)
    layer = layers[at % len(layers)]
    if what == "out":
        layers[at] = replace(layer, output=replace(layer.output, tensor=name))
    if what == "in":
        layers[at] = replace(layer, inputs=(replace(layer.inputs[0], tensor=name), *layer.inputs[1:]))
    if what == "layer":
        layers[at] = replace(layer, name=name)
    if what == "fused":
        layers[at] = replace(layer, fused=(name,))
    key = list(tensors)[at % len(tensors)]
    if what == "tensor":
        tensors = {
            (name if old == key else old): (replace(value, name=name) if old in (key, name) else value)
            for old, value in tensors.items()
        }
    if what == "base":
        tensors[key] = replace(tensors[key], view=View(name, 0, (1,)))
    return replace(workload, layers=tuple(layers), tensors=tensors)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(edits=st.lists(EDITS, min_size=1, max_size=3))
def test_whatever_is_called_like_something_else_is_written(golden: Workload, edits: list[tuple[str, int, str]]) -> None:
    for edit in edits:
        golden = _edited(golden, edit)
    found = workload_from_yaml(workload_to_yaml(golden))
    assert found == golden and [*found.tensors] == [*golden.tensors]


def test_states_and_outputs_are_written_in_blocks() -> None:
    found = checked_workload(STATE)
    text = workload_to_yaml(found)
    assert "own: [keys]" in text and "carry: {y: x}" in text and "  y: output [1, 4]" in text
    assert checked_workload(text) == found
