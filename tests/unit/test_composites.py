"""Composites: found whoever wrote the model, said and checked in the text form, one row in results with their parts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from onnx import helper

import archsim
from archsim.base.errors import ArchsimError, ModelError
from archsim.frontend.load import import_model, load_model
from archsim.ir.check.workload import check_workload
from archsim.ir.composites import Composite, within
from archsim.ir.forms.workload import checked_workload, workload_to_yaml
from archsim.ir.result import single_layers
from archsim.ir.workload import Workload
from archsim.report.run.layer_layout import layers
from tests.unit.fixtures_onnx import random, write_nodes
from tests.unit.test_transformer_configs import load

TORCH = Path(__file__).parents[1] / "golden" / "torch"
MOST_ROWS, MOST_PARTS = 12, 16  # of a Llama layer


def _of(workload: Workload, kind: str) -> dict[str, list[str]]:
    return {each.name: [*each.members] for each in workload.composites if each.kind == kind}


def test_a_llama_layer_is_eight_rows(tmp_path: Path) -> None:
    """q, k, v, attention, out, two norms and the gated block; parts are called by module paths."""
    step = load(tmp_path, "llama", ":decode")
    parts = [layer.name for layer in step.layers if ".layers.1." in layer.name]
    attention = [name for name in parts if any(part in name for part in ("rotary", "append", "attn.attn."))]
    assert _of(step, "attention")["model.layers.1.self_attn.attn"] == attention
    gated = [name for name in parts if ".mlp." in name]
    assert _of(step, "gated_mlp")["model.layers.1.mlp"] == gated and len(gated) == 3
    assert len(parts) <= MOST_PARTS
    joined = {*attention, *gated}
    assert len([name for name in parts if name not in joined]) + 2 == 8 <= MOST_ROWS


def test_torchs_block_has_those_of_the_config() -> None:
    found = import_model(TORCH / "block.pt2").workload
    assert [each.kind for each in found.composites] == ["attention", "gated_mlp"]
    (gated,) = _of(found, "gated_mlp").values()
    assert [name.rpartition(".")[2] for name in gated if name in ("gate", "up", "down")] == ["gate", "up", "down"]


@pytest.mark.parametrize(
    ("last", "kinds"),
    [
        ((("MatMul", ["t", "v"], "y"),), ["gated_mlp"]),
        ((("MatMul", ["r", "v"], "z"), ("Mul", ["z", "t"], "y")), []),
    ],
    ids=["multiplied with weights", "multiplies another product"],
)
def test_a_gated_block_ends_in_a_product_of_what_was_gated(
    tmp_path: Path, last: tuple[tuple[str, list[str], str], ...], kinds: list[str]
) -> None:
    """Gate and value are products of x, the second of which multiplies as it is drained; a product whose drain takes
    in the result does not end the block."""
    nodes = (
        ("MatMul", ["x", "w"], "g"),
        ("Sigmoid", ["g"], "a"),
        ("MatMul", ["x", "u"], "b"),
        ("Mul", ["a", "b"], "t"),
    )
    made = [helper.make_node(op, inputs, [name], name=name) for op, inputs, name in (*nodes, *last)]
    weights = {name: random(16, 16) for name in ("w", "u", "v")}
    inputs = {name: [8, 16] for name in ("x", "r") if any(name in read for _, read, _ in (*nodes, *last))}
    found = load_model(write_nodes(tmp_path, made, inputs, ["y"], **weights))
    assert [each.kind for each in found.composites] == kinds
    assert [layer.op for layer in found.layers] == ["MatMul"] * 3


def test_an_attention_without_paths_is_numbered() -> None:
    """Biases, masks and additions of ONNX files lie on the way."""
    found = load_model("bert_base_block")
    assert found.composites
    assert all(each.kind == "attention" and len(each.members) >= 3 for each in found.composites)


def test_experts_are_one(tmp_path: Path) -> None:
    found = load(tmp_path, "mixtral", ":decode")
    (name, members), *_ = _of(found, "moe").items()
    assert name == "model.layers.0.block_sparse_moe" and not _of(found, "gated_mlp")
    assert members == [layer.name for layer in found.layers if layer.name.startswith(f"{name}.")]


def test_the_text_form_keeps_them(tmp_path: Path) -> None:
    found = load(tmp_path, "llama", ":decode")
    again = checked_workload(workload_to_yaml(found))
    assert again.composites == found.composites != ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "thing"}, "kind 'thing'; allowed attention, gated_mlp"),
        ({"name": "lm_head"}, "its name is that of a layer"),
        ({"members": ()}, "names nothing; allowed one layer"),
        ({"members": ("lm_haed",)}, "names 'lm_haed'"),
        ({"members": ("lm_head", "lm_head")}, "stand in another order than they run in, or twice"),
        ({"members": ("model.layers.1.mlp.up_proj",)}, "is in another composite too"),
    ],
)
def test_what_is_none_is_refused(tmp_path: Path, change: dict[str, object], said: str) -> None:
    found = load(tmp_path, "llama", ":decode")
    wrong = replace(Composite("own", "cell", ("lm_head",)), **change)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=said.replace("(", r"\(")):
        check_workload(replace(found, composites=(*found.composites, wrong)))
    text = workload_to_yaml(replace(found, composites=(*found.composites, wrong)))
    with pytest.raises(ArchsimError, match="composites"):
        checked_workload(text, "own.yaml")


def test_what_is_left_of_them() -> None:
    both = (Composite("one", "cell", ("a", "b")), Composite("two", "norm", ("c",)))
    assert within(both, ["b", "d"]) == (Composite("one", "cell", ("b",)),)


def test_rows_sum_up_their_parts(tmp_path: Path) -> None:
    """A row of a result is the sum of its parts, so rows sum to the run as before; pages show both."""
    config = {"model_type": "llama", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
              "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 64}  # fmt: skip
    path = tmp_path / "small.json"
    path.write_text(json.dumps(config))
    done = archsim.run(f"{path}:decode", on="edge_npu", parameters={"prompt": 8}, net=False)
    rows = [row for row in done.summary["layers"] if row["name"].startswith("model.layers.1.") and not row["view_of"]]
    kinds = {row["op"]: row for row in rows if "parts" in row}
    assert [*kinds] == ["attention", "gated_mlp"] and len(rows) == 8
    for row in kinds.values():
        parts = [part for part in row["parts"] if part["view_of"] is None]
        for key in ("macs", "cycles_critical", "dram_read_bytes", "dram_write_bytes"):
            assert row[key] == sum(part[key] for part in parts)
        assert row["energy_j"] == pytest.approx(math.fsum(part["energy_j"] for part in parts), rel=1e-12)
        assert row["cycles_total"] == row["cycles_end"] - row["cycles_start"] <= done.summary["cycles_total"]
        assert row["cycles_end"] == max(part["cycles_end"] for part in parts)
    assert sum(row["cycles_critical"] for row in done.summary["layers"]) == done.summary["cycles_total"]
    causes = layers(done.summary)
    shares = {row[0]: row[10].value for row in causes.rows}
    critical = done.summary["details"]["critical"]
    for row in kinds.values():
        most = sum(critical.get(part["name"], {}).get(row["bound_by"], 0) for part in row["parts"])
        assert shares[row["name"]] == most / row["cycles_critical"]
    single = [row["name"] for row in single_layers(done.summary)]
    assert "model.layers.1.mlp" not in single and "model.layers.1.mlp.up_proj" in single
    assert list(done.layers.index) == single and done.layers.loc["model.layers.1.mlp.up_proj", "composite"] == (
        "model.layers.1.mlp"
    )
