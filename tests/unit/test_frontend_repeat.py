"""Entries of workload files that come several times, rows looked up in order, slices; and BERT-base, made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.frontend.load import import_model, load_model
from archsim.ir.check.workload import check_workload
from archsim.ir.workload import Workload

HEAD = "schema: archsim.workload/1\nname: t\nparameters: {batch: 1, n: 3}\ninputs: {x: [batch, 4]}\nlayers:\n"
ROUNDS = (
    HEAD + "  - repeat: n\n    name: r\n    carry: y\n    layers:\n"
    "      - dense: {name: a, input: y, out: 8}\n"
    "      - dense: {name: b, out: 4}\n"
    "      - add: {name: c, inputs: [b, y]}\n"
    "  - mul: {name: d, inputs: [r, x]}\n"
)
PUBLISHED_PARAMETERS = 109_482_240  # of BERT-base uncased with its pooler (google-bert/bert-base-uncased)


def write(path: Path, text: str) -> Path:
    (path / "w.yaml").write_text(text)
    return path / "w.yaml"


def reads(workload: Workload) -> dict[str, list[str]]:
    return {
        layer.name: [op.tensor for op in layer.inputs if workload.tensors[op.tensor].kind != "weight"]
        for layer in workload.layers
    }


def test_rounds_read_the_round_before_and_have_weights_of_their_own(tmp_path: Path) -> None:
    workload = load_model(write(tmp_path, ROUNDS))
    check_workload(workload)
    assert reads(workload) == {
        "r.0.a": ["x"],
        "r.0.b": ["r.0.a", "x"],  # which adds as it writes r.0.c
        "r.1.a": ["r.0.c"],
        "r.1.b": ["r.1.a", "r.0.c"],
        "r.2.a": ["r.1.c"],
        "r.2.b": ["r.2.a", "r.1.c"],
        "d": ["r.2.c", "x"],
    }
    assert workload.parameters == 3 * (4 * 8 + 8 + 8 * 4 + 4)
    once = load_model(write(tmp_path, ROUNDS), parameters={"n": 1})
    assert [layer.name for layer in once.layers] == ["r.0.a", "r.0.b", "d"]


def test_rounds_are_what_writing_them_out_gives(tmp_path: Path) -> None:
    entries = "".join(
        f"  - dense: {{name: r.{n}.a, input: {before}, out: 8}}\n"
        f"  - dense: {{name: r.{n}.b, out: 4}}\n"
        f"  - add: {{name: r.{n}.c, inputs: [r.{n}.b, {before}]}}\n"
        for n, before in enumerate(("x", "r.0.c", "r.1.c"))
    )
    long = load_model(write(tmp_path, HEAD + entries + "  - mul: {name: d, inputs: [r.2.c, x]}\n"))
    short = load_model(write(tmp_path, ROUNDS))
    assert short.layers == long.layers and short.tensors == long.tensors


def test_repeats_nest_and_results_inside_are_reached(tmp_path: Path) -> None:
    text = (
        HEAD + "  - repeat: 2\n    name: outer\n    layers:\n"
        "      - repeat: 2\n        name: inner\n        layers:\n          - dense: {name: f, out: 4}\n"
        "      - add: {name: s, inputs: [inner, x]}\n"
        "  - mul: {name: m, inputs: [outer, outer.0.inner.1.f]}\n"
    )
    found = reads(load_model(write(tmp_path, text)))
    assert found["outer.1.inner.0.f"] == ["outer.0.s"]
    assert found["outer.1.inner.1.f"] == ["outer.1.inner.0.f", "x"]  # which adds as it writes outer.1.s
    assert found["m"] == ["outer.1.s", "outer.0.inner.1.f"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROUNDS.replace("out: 8", "out: q"), r":10:\d+: layers\[0\]\.repeat\.layers\[0\]\.dense\.out: found 'q'"),
        (ROUNDS.replace("[b, y]", "[b, z]"), "nothing is called 'z'; known: x, .*, r.0.b, y"),
        (ROUNDS.replace("name: c", "name: y"), "the name 'r.0.y' is used before"),
        (ROUNDS.replace("[r, x]", "[b, x]"), "nothing is called 'b'"),
        (ROUNDS.replace("name: d", "name: r"), "the name 'r' is used before"),
        (ROUNDS.replace("name: r\n", "name: x\n"), "the name 'x' is used before"),
        (ROUNDS.replace("repeat: n", "repeat: 0"), r"layers\[0\]\.repeat\.times: found 0; allowed 1 or more"),
        (ROUNDS.replace("repeat: n", "repeat: 1000000"), "makes more than 100,000 operators"),
        (
            ROUNDS.replace("input: y, ", "").replace("[b, y]", "[b, b]").replace("carry", "cary"),
            "unknown key 'cary'.*did you mean 'carry'",
        ),
        (ROUNDS.partition("    layers:")[0], "has no layers"),
        (HEAD + "  - slice: {axis: 3, stop: 1}\n", "found 3; allowed -2 to 1"),
        (HEAD + "  - slice: {axis: 1, start: 2, stop: 5}\n", "found 5; allowed 3 to 4, the size of the axis"),
        (HEAD + "  - slice: {axis: 1, start: 2, stop: 2}\n", "found 2; allowed 3 to 4"),
        (HEAD + "  - embedding: {rows: 4, dim: 2, lookups: 5, distribution: in_order}\n", "found 5; allowed 1 to 4"),
        (
            HEAD + "  - embedding: {rows: 4, dim: 2, lookups: 4, distribution: in_order, seed: 1}\n",
            "unknown key 'seed'",
        ),
    ],
)
def test_mistakes_name_line_key_and_what_is_allowed(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}:")


def test_slices_are_views_and_rows_in_order_are_constants(tmp_path: Path) -> None:
    text = (
        HEAD + "  - slice: {name: part, axis: 1, start: 1, stop: 3}\n"
        "  - embedding: {name: place, rows: 7, dim: 2, lookups: 1, distribution: in_order}\n"
        "  - add: {name: sum, inputs: [part, place]}\n"
    )
    lowered = import_model(write(tmp_path, text))
    (layer,) = lowered.workload.layers
    assert layer.op == "Add" and [view.op for view in lowered.workload.views] == ["Slice"]
    assert lowered.workload.parameters == 14
    assert lowered.graph is not None and list(lowered.graph.inputs) == ["x"]
    assert lowered.graph.values["place"].shape == (1, 2)


def products(seq: int, layers: int, batch: int = 1, hidden: int = 768) -> int:
    """Multiply-accumulates: 12 H^2 S + 2 H S^2 a layer, H^2 of the pooler."""
    return batch * (layers * (12 * hidden**2 * seq + 2 * hidden * seq**2) + hidden**2)


def test_bert_base_counts_what_was_published() -> None:
    bert = load_model("bert_base")
    check_workload(bert)
    assert bert.parameters == PUBLISHED_PARAMETERS
    assert bert.macs == products(512, 12) == 48_318_971_904
    assert sum(layer.kind == "copy" for layer in bert.layers) == 2  # look-ups of words and segments
    assert len(bert.layers) == 4 + 12 * 11 + 1


def test_bert_base_at_other_sizes() -> None:
    small = load_model("bert_base", batch=2, parameters={"seq": 64, "layers": 1})
    assert small.macs == products(64, 1, 2)
    assert small.parameters == PUBLISHED_PARAMETERS - 11 * 85_054_464 // 12
    narrow = load_model("bert_base", parameters={"seq": 64, "layers": 2, "hidden": 128, "heads": 2})
    assert narrow.macs == products(64, 2, hidden=128)
    with pytest.raises(ConfigError, match=r"lookups: found 513; allowed 1 to 512, the rows of the table"):
        load_model("bert_base", parameters={"seq": 513})
