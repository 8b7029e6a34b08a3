"""Operators on the host: no multiply-accumulate is lost in silence, several outputs, and what follows reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import archsim
from archsim.frontend.load import load_model
from archsim.ir.workload import Workload
from tests.unit.fixtures_onnx import random, write_nodes


def load(folder: Path, nodes: list[Any], inputs: dict[str, Any], outputs: list[str], **stored: Any) -> Workload:
    return load_model(write_nodes(folder, nodes, inputs, outputs, **stored), on_unsupported="host")


def recurrent(folder: Path, op: str, gates: int) -> Workload:
    """20 steps of 3 samples, 6 elements in, 8 of state, in both directions; the state at the end is read."""
    nodes = [
        helper.make_node(op, ["x", "w", "r"], ["y", "last"], name="cell", hidden_size=8, direction="bidirectional"),
        helper.make_node("Relu", ["last"], ["z"], name="act"),
    ]
    weights = {"w": random(2, gates * 8, 6), "r": random(2, gates * 8, 8)}
    return load(folder, nodes, {"x": [20, 3, 6]}, ["y", "z"], **weights)


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_cells_multiply_input_and_state_by_all_weights(tmp_path: Path, op: str, gates: int) -> None:
    workload = recurrent(tmp_path, op, gates)
    assert workload.macs == 20 * 3 * 2 * gates * 8 * (6 + 8)
    assert not any("not known" in each for each in workload.warnings)


def test_each_output_is_a_layer_and_the_first_does_the_work(tmp_path: Path) -> None:
    layers = recurrent(tmp_path, "LSTM", 4).layers
    assert [(layer.name, layer.kind) for layer in layers] == [("cell", "host"), ("cell.1", "host"), ("act", "vector")]
    first, second = layers[0].attributes, layers[1].attributes
    moved = 20 * 3 * 6 + 2 * 32 * (6 + 8) + 20 * 2 * 3 * 8
    assert (first["bytes"], first["flops"]) == (4 * moved, moved + 2 * layers[0].macs)
    assert (second["bytes"], second["macs"]) == (4 * 2 * 3 * 8, 0)


def test_what_the_host_writes_is_read_on_the_chip(tmp_path: Path) -> None:
    """From model to the end of the run: the machine refuses bytes that nobody has written."""
    recurrent(tmp_path, "LSTM", 4)
    summary = archsim.run(tmp_path / "one.onnx", on="edge_npu", on_unsupported="host").summary
    assert summary["cycles_total"] > 0 and summary["macs_host"] == summary["macs"] == 20 * 3 * 2 * 32 * (6 + 8)


@pytest.mark.parametrize(
    ("node", "arrays", "macs"),
    [
        (
            helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=32, N=4, bits=2,
                             block_size=16),
            {"w": np.zeros((4, 2, 4), np.uint8), "s": np.ones(8, np.float32)},
            2 * 32 * 4,
        ),
        (helper.make_node("ConvTranspose", ["x", "w"], ["y"], dilations=[2]), {"w": random(3, 5, 4)},
         2 * 3 * 8 * 5 * 4),
    ],
)  # fmt: skip
def test_other_operators_count_by_their_formulas(tmp_path: Path, node: Any, arrays: dict[str, Any], macs: int) -> None:
    shape = [2, 32] if node.op_type == "MatMulNBits" else [2, 3, 8]
    assert load(tmp_path, [node], {"x": shape}, ["y"], **arrays).macs == macs


def test_what_no_formula_counts_is_said(tmp_path: Path) -> None:
    node = helper.make_node("Hardmax", ["x"], ["y"], name="running")
    workload = load(tmp_path, [node], {"x": [2, 8]}, ["y"])
    assert workload.macs == 0
    said = "multiply-accumulates of 'running' (Hardmax) on the host are not known and count none"
    assert said in workload.warnings
