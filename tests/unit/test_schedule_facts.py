"""What a result says of the schedule that its Program was made by: ``schedule``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from onnx import helper

from archsim.cli import both
from archsim.cli.options import OutputFormat
from archsim.lab.run.job import Job
from archsim.lab.run.run import execute
from archsim.report.run.run_sentences import sentences
from archsim.spec.load import load
from tests.tools.commands import ROOT
from tests.unit.fixtures_onnx import random, write_nodes

GPU = {"platform": "llmcompass"}
LAYERS = """\
schema: archsim.workload/1
name: chain
source: a test
inputs: {x: [64, 256]}
layers:
  - dense: {name: up, input: x, out: 512, bias: false}
  - act: {name: gelu, input: up, function: gelu}
  - dense: {name: down, input: gelu, out: 256, bias: false}
"""


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "chain.yaml"
    path.write_text(LAYERS)
    return path


def told(job: Job) -> dict[str, Any]:
    found: dict[str, Any] = execute(job).result.to_json()["schedule"]
    return found


def test_a_chip_whose_host_launches_programs_has_one_kernel(chain: Path) -> None:
    found = told(Job(chain, "edge_npu", schedule="layers"))
    layers = found["groups"]
    assert found == {"policy": "layers", "kernels": 1, "groups": layers, "fused_groups": 0}
    assert 2 <= layers <= 3  # GELU runs with the product before it, or by itself


def test_groups_count_layers_alone_and_those_that_run_together() -> None:
    job = Job("hand_tracking", "edge_npu")
    done = execute(job)
    found, mapping = done.result.to_json()["schedule"], done.built.mapping
    assert mapping is not None and mapping.groups
    members = sum(len(group.members) for group in mapping.groups)
    assert found["fused_groups"] == len(mapping.groups)
    assert found["groups"] == len(mapping.layers) - members + len(mapping.groups)
    assert found["policy"] == "best" and found["kernels"] == 1


def test_a_library_launches_each_layer_and_a_compiler_that_makes_one_kernel_one(chain: Path) -> None:
    library = told(Job(chain, "a100", schedule="platform", values=GPU))
    assert library["policy"] == "library" and library["kernels"] == library["groups"] > 1
    xla = told(Job(chain, "tpu_v3", schedule="platform"))
    assert xla["policy"] == "xla" and xla["kernels"] == 1 < xla["groups"]


def test_a_chip_without_a_host_launches_nothing(chain: Path) -> None:
    assert load("scalesim_32x32").host is None
    found = told(Job("gemm", "scalesim_32x32", parameters={"m": 64, "n": 64, "k": 64}))
    assert found["kernels"] == 0 and found["groups"] == 1


def test_layers_on_the_host_are_no_kernels(tmp_path: Path) -> None:
    """A recurrent cell, which no chip runs, and an activation behind it."""
    nodes = [
        helper.make_node("RNN", ["x", "w", "r"], ["y", "last"], name="cell", hidden_size=8),
        helper.make_node("Relu", ["last"], ["z"], name="act"),
    ]
    write_nodes(tmp_path, nodes, {"x": [20, 3, 6]}, ["z"], w=random(1, 8, 6), r=random(1, 8, 8))
    done = execute(Job(tmp_path / "one.onnx", "edge_npu", on_unsupported="host"))
    found = done.result.to_json()["schedule"]
    assert any(layer.on_host for layer in done.result.layers)
    assert found["kernels"] == found["groups"] == 1


def test_a_mapping_file_states_the_schedule(chain: Path, tmp_path: Path) -> None:
    for job in (Job(chain, "edge_npu"), Job(chain, "tpu_v3", schedule="platform")):
        execute(job).save(tmp_path / "out")
        found = told(replace(job, schedule="best", mapping=tmp_path / "out" / "mappings.yaml"))
        assert found["policy"] == ("stated" if job.schedule == "best" else "xla")


def test_a_program_given_as_text_has_no_schedule() -> None:
    assert "schedule" not in execute(Job(ROOT / "studies" / "kernels" / "1_naive.asm", "edge_npu")).result.to_json()


@pytest.mark.usefixtures("net")
def test_where_the_platforms_schedule_was_simulated_too_both_are_told(chain: Path) -> None:
    job = Job(chain, "a100", values=GPU, net=True)
    done = execute(job)
    found = done.result.to_json()["schedule"]
    assert found["cycles_best"] == done.result.cycles_total < found["cycles_platform"]
    again = execute(job).result.to_json()["schedule"]
    assert again == found  # what was kept is remembered, and so is what it was kept by
    alone = execute(replace(job, schedule="platform")).result
    assert found["cycles_platform"] == alone.cycles_total
    frugal = execute(replace(job, objective="energy")).result.to_json()["schedule"]
    assert not {"cycles_best", "cycles_platform"} & frugal.keys()  # the best by energy has not the fewest cycles


def test_both_writes_the_cycles_of_both(chain: Path, tmp_path: Path) -> None:
    job = Job(chain, "a100", values=GPU)
    both.run(job, (), tmp_path / "out", OutputFormat.JSON, None)
    runs = {name: json.loads((tmp_path / "out" / name / "summary.json").read_text()) for name in both.NAMES}
    cycles = {f"cycles_{name}": run["cycles_total"] for name, run in runs.items()}
    for run in runs.values():
        assert {key: run["schedule"][key] for key in cycles} == cycles
    assert cycles["cycles_best"] < cycles["cycles_platform"]


def test_the_report_says_what_the_platforms_schedule_costs() -> None:
    done = execute(Job("gemm", "edge_npu", parameters={"m": 32, "n": 32, "k": 32}))
    said = {**done.summary, "schedule": {"cycles_best": 1000, "cycles_platform": 1250}}
    assert "takes 1,250 cycles, 25.0 % more than the best one that was found, 1,000." in " ".join(sentences(said))
    said = {**said, "schedule": {"cycles_best": 1000, "cycles_platform": 1000}}
    assert "No schedule was found that is better than the platform's own, of 1,000 cycles." in sentences(said)
    assert not any("platform" in sentence for sentence in sentences(done.summary))
