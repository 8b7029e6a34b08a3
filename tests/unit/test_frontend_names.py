"""Layers that no file names are called by operator, ordinal and output shape; names that say something stay."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from fixtures_onnx import model, random, save
from onnx import helper

import archsim as ax
from archsim.base.errors import ConfigError
from archsim.frontend.load import load_model
from archsim.frontend.names import is_counted, layer_name
from archsim.lab.run.job import Job
from archsim.lab.run.map_only import mapped
from archsim.lab.run.mapping_file import write
from archsim.lab.what_if.explain import explained
from tests.tools.commands import GOLDEN

WEIGHTS = {"w": random(8, 3, 3, 3), "v": random(8, 8, 1, 1)}


def net(*names: str, batch: int | str = 1) -> onnx.ModelProto:
    """conv, relu, conv, addition, softmax over channels with these names, in turn; '' = none."""
    calls = [
        ("Conv", ["x", "w"], "a"), ("Relu", ["a"], "b"), ("Conv", ["b", "v"], "c"), ("Add", ["c", "b"], "d"),
        ("Softmax", ["d"], "y"),
    ]  # fmt: skip
    nodes = [
        helper.make_node(op, inputs, [out], name=name, **({"axis": 1} if op == "Softmax" else {}))
        for (op, inputs, out), name in zip(calls, names, strict=True)
    ]
    return model(nodes, {"x": (batch, 3, 9, 10)}, ["y"], WEIGHTS)


def names_of(path: Path, batch: int | None = None) -> list[str]:
    """Layers of the model in order, fused ones behind those that they are part of."""
    return [name for layer in load_model(path, batch=batch).layers for name in (layer.name, *layer.fused)]


def test_the_name_of_the_treaty_is_that_of_a_real_layer() -> None:
    assert layer_name("Conv", 17, (56, 56, 64)) == "conv_17_56x56x64"
    assert layer_name("com.example.Gelu", 3, (128, 768)) == "gelu_3_128x768" and layer_name("Add", 1, ()) == "add_1_1"
    workload = load_model("resnet50")
    layer = next(layer for layer in workload.layers if layer.name == "conv_17_56x56x64")
    assert layer.op == "Conv" and (layer.dims["p"], layer.dims["q"], layer.dims["k"]) == (56, 56, 64)
    assert len({layer.name for layer in workload.layers}) == len(workload.layers)


@pytest.mark.parametrize(
    ("name", "op", "counted"),
    [
        ("n16", "Conv", True), ("16", "Conv", True), ("Conv_16", "Conv", True), ("conv2d_16", "Conv", True),
        ("node_Conv_16", "Conv", True), ("node_linear", "Gemm", True), ("Relu__16", "Relu", True),
        ("n3_1", "Add", True),
        ("conv1", "Conv", False), ("/layer1/layer1.0/conv1/Conv", "Conv", False), ("layer1.0", "Conv", False),
        ("Conv_16", "Relu", False), ("stem", "Conv", False), ("Conv", "Conv", False), ("n16a", "Conv", False),
        ("\u5c42_1", "Conv", False), ("up_1", "Gemm", False), ("node", "Conv", False), ("Conv_16\n", "Conv", False),
    ],
)  # fmt: skip
def test_names_that_only_count_are_none(name: str, op: str, counted: bool) -> None:
    assert is_counted(name, op) is counted


def test_nodes_without_a_name_and_with_one(tmp_path: Path) -> None:
    bare = save(tmp_path / "bare", net("", "", "", "", ""))
    found = ["conv_1_7x8x8", "relu_2_7x8x8", "conv_3_7x8x8", "add_4_7x8x8", "softmax_5_7x8x8"]
    assert sorted(names_of(bare)) == sorted(found)
    named = save(tmp_path / "named", net("stem", "", "Conv_2", "a", "a"))
    kept = ["stem", "relu_2_7x8x8", "conv_3_7x8x8", "a", "softmax_5_7x8x8"]
    assert sorted(names_of(named)) == sorted(kept)


def test_a_new_name_is_none_that_the_file_gives(tmp_path: Path) -> None:
    path = save(tmp_path, net("", "conv_1_7x8x8", "conv_3_7x8x8", "conv_3_7x8x8_2", ""))
    names = names_of(path)
    assert len(set(names)) == len(names) == 5
    assert {"conv_1_7x8x8", "conv_1_7x8x8_2", "conv_3_7x8x8", "conv_3_7x8x8_2"} < set(names)


@pytest.mark.parametrize("stored", [1, 2, "batch"])
def test_names_are_the_same_at_every_batch(tmp_path: Path, stored: int | str) -> None:
    path = save(tmp_path, net("", "", "", "", "", batch=stored))
    assert names_of(path, 4) == names_of(path) == names_of(save(tmp_path / "one", net("", "", "", "", "")))


def test_rows_without_a_name_in_a_topology(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "name, H, W, R, S, C, M, stride,\n,10,12,3,3,4,8,2,\nstem,9,9,3,3,4,8,1,\n"
        ",9,9,3,3,4,8,2,1,\nstem,9,9,3,3,4,8,1,\n"
    )
    workload = load_model(path)
    assert [layer.name for layer in workload.layers] == ["conv_1_5x6x8", "stem", "conv_3_4x7x8", "stem#5"]
    for layer, shape in zip(workload.layers[::2], ((5, 6, 8), (4, 7, 8)), strict=True):
        assert tuple(layer.dims[dim] for dim in ("p", "q", "k")) == shape
    products = tmp_path / "g.csv"
    products.write_text("name, M, N, K,\n,5,6,7,\n")
    assert [layer.name for layer in load_model(products).layers] == ["matmul_1_5x6"]


def test_every_part_calls_a_layer_by_the_same_name(tmp_path: Path) -> None:
    path, chip = save(tmp_path, net("", "", "", "", "")), GOLDEN / "chip.yaml"
    result = ax.run(path, on=chip)
    names = [row["name"] for row in result.summary["layers"]]
    assert "conv_3_7x8x8" in names
    given = tmp_path / "m.yaml"
    found = mapped(Job(str(path), str(chip)))
    write(found.mapping, found.workload, given)
    assert "conv_3_7x8x8" in given.read_text()
    again = ax.run(path, on=chip, mapping=given)
    assert [row["name"] for row in again.summary["layers"]] == names
    assert explained(Job(str(path), str(chip)), "conv_3_7x8x8").to_json()["layer"] == "conv_3_7x8x8"
    with pytest.raises(ConfigError, match=r"no layer 'conv_3_7x8' .*did you mean 'conv_3_7x8x8'"):
        explained(Job(str(path), str(chip)), "conv_3_7x8")
