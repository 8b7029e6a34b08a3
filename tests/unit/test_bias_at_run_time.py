"""What is added to a product and known only when the model runs: an activation, in the format of activations."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import helper

import archsim
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from tests.unit.fixtures_onnx import random, write_nodes


def _gemm(folder: Path, added: list[int]) -> str:
    """a (32 x 64) times w (64 x 48), and c added to it, which a layer before has made."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["r"], ["c"], name="second"),
        helper.make_node("Gemm", ["a", "w", "c"], ["y"], name="product"),
    ]
    return str(write_nodes(folder, nodes, {"x": [32, 64], "r": added}, ["y"], w=random(64, 48)))


@pytest.mark.parametrize("chip", ["edge_npu", "tpu_v1", "gemmini_16x16"])
@pytest.mark.parametrize("added", [[32, 48], [1, 48], [48], [32, 1]], ids=str)
def test_numbers_are_those_of_the_runtime_and_whole_ones_equal(tmp_path: Path, chip: str, added: list[int]) -> None:
    outcome = verify(VerifyOptions(Job(_gemm(tmp_path, added), chip)))
    assert outcome.met
    whole = outcome.checks[-1]
    assert {row.name: row.different for row in whole.rows}["product"] == 0


def test_it_moves_as_activations_do(tmp_path: Path) -> None:
    """A byte for each of 32 x 48 elements, where the accumulators have four."""
    done = archsim.run(_gemm(tmp_path, [32, 48]), on="edge_npu", dtype="int8", net=False)
    assert done.summary["workload"]["weight_bytes"] == 64 * 48
    assert done.summary["workload"]["activation_bytes"] == 32 * 64 + 2 * 32 * 48
