"""`archsim verify` from a user's seat, and the networks that it must find computed right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from archsim.lab.files import show
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.spec import load
from tests.tools.commands import GOLDEN, ROOT, Archsim

pytestmark = pytest.mark.slow  # whole networks

MOST_CORES = 128  # of chips on which a whole network is computed: on more it takes minutes
CHIPS = [name for name, _ in show.listing("chips") if load.load(name).cores <= MOST_CORES]
SMALL = {
    "gemm_4096": {"size": 512},
    "bert_base": {"seq": 32, "layers": 1, "hidden": 192, "heads": 3, "vocabulary": 500},
    "tpu_v1_mlp0": {"batch": 2, "width": 40},
    "tpu_v1_mlp1": {"batch": 2, "narrow": 24, "wide": 40},
    "tpu_v1_lstm0": {"batch": 2, "narrow": 24, "wide": 40},
    "tpu_v1_lstm1": {"batch": 2, "narrow": 24, "wide": 40},
    "tpu_v1_cnn0": {"batch": 1, "size": 5, "channels": 8},
    "tpu_v1_cnn1": {"batch": 1, "height": 6, "width": 7, "channels": 8, "hidden": 20},
}  # parameters


def test_a_network_layer_by_layer(archsim: Archsim) -> None:
    done = archsim("verify", "squeezenet", "--on", "edge_npu", "--format", "json", "--interleavings", "2")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["schema"] == "archsim.verify/1" and found["passed"] is True
    real, exact = found["checks"]
    assert real["reference"].startswith("ONNX Runtime") and real["worst_error"] < 1e-5
    assert exact["numbers"] == "int8" and exact["worst_error"] == 0.0
    assert {row["name"] for row in exact["rows"]} == {row["name"] for row in real["rows"]}
    assert len(real["rows"]) == 31 + 1  # every layer, and the output at the end


def test_the_table_says_what_was_compared(archsim: Archsim, model: str, chip: str) -> None:
    done = archsim("verify", model, "--on", chip)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "verified"
    assert "NumPy, node by node" in done.stdout and "4 of 4 results equal in every element" in done.stdout


def test_only_some_layers(archsim: Archsim, model: str, chip: str) -> None:
    done = archsim("verify", model, "--on", chip, "--layers", "conv2", "--format", "json")
    assert [row["name"] for check in json.loads(done.stdout)["checks"] for row in check["rows"]] == ["conv2"] * 2
    done = archsim("verify", model, "--on", chip, "--layers", "conv3")
    assert done.returncode == 2 and "no layer 'conv3'" in done.stderr and "conv" in done.stderr


def test_given_inputs_and_weights(archsim: Archsim, model: str, chip: str, tmp_path: Path) -> None:
    path = tmp_path / "given.npz"
    np.savez(path, **{"conv1.input": np.ones((1, 4, 10, 10), np.float32)})
    assert archsim("verify", model, "--on", chip, "--inputs", str(path)).returncode == 0
    np.savez(path, **{"conv1.input": np.ones((1, 4, 10), np.float32)})
    done = archsim("verify", model, "--on", chip, "--inputs", str(path))
    assert done.returncode == 2 and "has shape [1, 4, 10]; allowed" in done.stderr
    np.savez(path, nothing=np.ones(1))
    done = archsim("verify", model, "--on", chip, "--inputs", str(path))
    assert done.returncode == 2 and "no input or constant 'nothing'" in done.stderr
    path.write_bytes(b"no zip")
    assert archsim("verify", model, "--on", chip, "--inputs", str(path)).returncode == 2


def test_a_program_text_alone_and_against_its_model(archsim: Archsim, model: str, chip: str, tmp_path: Path) -> None:
    listing = archsim("asm", model, "--on", chip).stdout
    path = tmp_path / "tiny.asm"
    path.write_text(listing)
    done = archsim("verify", str(path), "--on", chip)
    assert done.returncode == 0 and "20 orders of commands" in done.stdout
    done = archsim("verify", str(path), "--on", chip, "--against", model)
    assert done.returncode == 0 and "4 of 4 results" in done.stdout
    assert "function requantise" in listing
    path.write_text(listing.replace("function requantise", "function requantise+neg"))
    done = archsim("verify", str(path), "--on", chip, "--against", model)
    assert done.returncode == 1 and "NOT VERIFIED" in done.stdout and "elements differ" in done.stdout


def test_against_needs_a_program_and_matching_tensors(archsim: Archsim, model: str, chip: str) -> None:
    done = archsim("verify", model, "--on", chip, "--against", model)
    assert done.returncode == 2 and "allowed for a Program text" in done.stderr
    done = archsim("verify", str(GOLDEN / "program.asm"), "--on", chip, "--against", model)
    assert done.returncode == 2 and "the Program has no tensor" in done.stderr


def test_the_golden_program_in_twenty_orders(archsim: Archsim, chip: str) -> None:
    done = archsim("verify", str(GOLDEN / "program.asm"), "--on", chip)
    assert done.returncode == 0 and "2 of 2 results equal in every element, 20 orders" in done.stdout


@pytest.mark.parametrize("chip", CHIPS)
def test_squeezenet_on_every_chip(chip: str) -> None:
    outcome = verify(VerifyOptions(Job("squeezenet", chip)))
    assert outcome.met, [check for check in outcome.checks if not check.passed]
    assert all(not check.skipped or "not integers" in check.skipped for check in outcome.checks)


@pytest.mark.parametrize("name", ["resnet50", "shufflenet", "inception_v2"])
def test_networks_on_edge_npu(name: str) -> None:
    """AlexNet, DenseNet-121 and VGG-19 too, by hand: they take a minute and gigabytes."""
    outcome = verify(VerifyOptions(Job(name, "edge_npu")))
    assert outcome.met, [check for check in outcome.checks if not check.passed]
    assert [check.numbers for check in outcome.checks] == ["float32", "int8"]


def test_workload_files_are_verified_too() -> None:
    for path in sorted((ROOT / "configs" / "workloads").glob("*.yaml")):
        outcome = verify(VerifyOptions(Job(str(path), "edge_npu", parameters=SMALL.get(path.stem, {}))))
        assert outcome.met, (path.name, outcome.checks)


def test_bert_base_is_verified_on_many_cores() -> None:
    outcome = verify(VerifyOptions(Job("bert_base", "mtia_v2i", parameters=SMALL["bert_base"] | {"layers": 2})))
    assert outcome.met, [check for check in outcome.checks if not check.passed]
    assert [check.numbers for check in outcome.checks] == ["float64", "int8"]
