"""The Result assembled from an Activity: every documented key and sum, rows of views, host and static energy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixtures_chip import small_chip
from fixtures_timeline import NS, UNITS, activity, record

from archsim.base.errors import SimulationError
from archsim.ir.activity import Activity, DramStats
from archsim.ir.asm.parser import parse_program
from archsim.ir.bandwidth import BandwidthTrace
from archsim.ir.mapping import ModelMapping
from archsim.ir.records import Records
from archsim.ir.result import Result
from archsim.ir.workload import Axis, Layer, Operand, Tensor, View, ViewNode, Workload
from archsim.lab.run.account import assemble
from archsim.repetition import Repetition
from archsim.spec.load import load
from archsim.system import simulate

CHIP = small_chip()
GOLDEN = Path(__file__).parents[1] / "golden"
KEYS = [
    "schema",
    "workload",
    "architecture",
    "cycles_total",
    "latency_s",
    "throughput_per_s",
    "macs",
    "macs_array",
    "macs_vector",
    "macs_host",
    "macs_dense",
    "macs_executed",
    "utilization",
    "utilization_dtype",
    "network_bound_cycles",
    "gap",
    "compulsory_bytes",
    "energy_j",
    "energy_chip_j",
    "power_avg_w",
    "power_peak_w",
    "power_window_s",
    "edp_js",
    "area_mm2",
    "die_cost_usd",
    "bounds",
    "per_sample",
    "dram",
    "mac_breakdown",
    "energy_breakdown_j",
    "time_breakdown",
    "layers",
    "provenance",
    "power",
]
LAYER_KEYS = [
    "name",
    "op",
    "macs",
    "cycles_start",
    "cycles_end",
    "cycles_total",
    "utilization",
    "energy_j",
    "dram_read_bytes",
    "dram_write_bytes",
    "cycles_critical",
    "bound_by",
    "stalls",
    "fused_with",
    "view_of",
    "on_host",
]


def model() -> Workload:
    """A 4x4x4 matmul with bias, a view of it, and a layer on the host."""
    rows = tuple(Axis(((dim, 1),)) for dim in "mn")
    operands = (
        Operand("a", "x", "inputs", rows),
        Operand("b", "w", "weights", rows),
        Operand("bias", "c", "weights", rows[1:]),
    )
    gemm = Layer(
        "gemm", "Gemm", "matmul", {"m": 4, "n": 4, "k": 4}, operands, Operand("out", "y", "outputs", rows),
        m=("m",), n=("n",), k=("k",), fused=("relu",),
    )  # fmt: skip
    fallback = Layer("odd", "Odd", "host", {"m": 4}, (), Operand("out", "z", "outputs", rows[:1]))
    tensors = (
        Tensor("x", (4, 4), "input"),
        Tensor("w", (4, 4), "weight"),
        Tensor("w_half", (2, 4), "weight", view=View("w", 0, (4, 1))),
        Tensor("c", (4,), "weight"),
        Tensor("y", (4, 4), "activation"),
        Tensor("z", (4,), "output"),
    )
    views = (ViewNode("flat", "Reshape", "gemm"), ViewNode("flat2", "Reshape", "y"), ViewNode("lost", "Reshape", "x"))
    named = {tensor.name: tensor for tensor in tensors}
    return Workload("tiny", (gemm, fallback), named, views, 2, 20, "m0del", warnings=("from the model",))


def run() -> Activity:
    """launch [0,10), load [10,30), gemm [30,50) of 64 MACs, store [50,60), odd on the host [60,100)."""
    base = activity(
        record("host", 0, (0, 0, 10), None, (("launch", 10),), layer=""),
        record(UNITS[0], 0, (0, 10, 30), ("host", 0), (("dram", 28), ("sram_port", 30)), layer="gemm", role="weights"),
        record(UNITS[1], 0, (0, 30, 50), (UNITS[0], 0), layer="gemm", macs=64, slots=16),
        record(UNITS[3], 0, (0, 50, 60), (UNITS[1], 0), (("dram", 60),), layer="gemm", role="outputs"),
        record("host", 1, (10, 60, 100), (UNITS[3], 0), (("launch", 100),), layer="odd"),
        units=(*UNITS, "host"),
    )
    counts = {
        ("", "host", "launches"): 1,
        ("_static", "dram", "refreshes"): 3,
        ("gemm", "dram", "read_bytes"): 48,
        ("gemm", "dram", "write_bytes"): 100,
        ("gemm", "dram", "pin_read_bytes"): 64,
        ("gemm", "dram", "pin_write_bytes"): 128,
        ("gemm", "l1", "write_accesses"): 8,
        ("gemm", "mxu", "mac"): 64,
        ("odd", "host", "flops"): 1000,
    }
    dram = {"dram": DramStats(64, 128, 48, 100, 2, 1, 1, 2, 3, 38_400_000_000)}
    return replace(base, counts=counts, dram=dram, fidelity={"dram": "exact"})


def result(**options: Any) -> Result:
    return assemble(model(), CHIP, run(), options={"objective": "latency"}, seed=3, warnings=("late",), **options)


def check_sums(found: Mapping[str, Any]) -> None:
    """Every sum of the contract, exactly."""
    total = found["cycles_total"]
    assert all(sum(row.values()) == total for row in found["time_breakdown"].values())
    peak = found["architecture"]["peak_macs_per_s"] / found["architecture"]["clock_hz"]
    assert sum(found["mac_breakdown"].values()) == total * peak
    assert sum(found["energy_breakdown_j"].values()) == found["energy_j"]
    layers = found["layers"]
    assert sum(layer["energy_j"] for layer in layers) == found["energy_j"]
    assert sum(layer["cycles_critical"] for layer in layers) == total
    assert sum(layer["dram_read_bytes"] for layer in layers) == found["dram"]["read_bytes"]
    assert sum(layer["dram_write_bytes"] for layer in layers) == found["dram"]["write_bytes"]
    assert found["macs"] == found["macs_array"] + found["macs_vector"] + found["macs_host"]
    assert found["macs_array"] == found["mac_breakdown"]["useful"]
    assert found["utilization"] == pytest.approx(found["macs_array"] / (total * peak))
    assert found["utilization"] <= found["utilization_dtype"] <= 1
    for key in ("read_bytes", "write_bytes", "useful_bytes"):
        assert found["dram"][key] == sum(row[key] for row in found["dram"]["memories"].values())
    assert found["power_peak_w"] >= found["power_avg_w"]
    assert found["edp_js"] == found["energy_j"] * found["latency_s"]


def test_every_key_of_the_contract_in_order() -> None:
    found = result().to_json()
    assert list(found) == KEYS
    assert all(list(layer) == LAYER_KEYS for layer in found["layers"])
    check_sums(found)


def test_headline_figures() -> None:
    found = result().to_json()
    assert found["workload"] == {
        "name": "tiny", "layers": 2, "macs": 64, "parameters": 20, "weight_bytes": 16 + 4 * 4, "activation_bytes": 20,
        "state_bytes": 0, "folded_macs": 0,
    }  # fmt: skip
    assert found["architecture"] == {"name": "small", "clock_hz": 10**9, "peak_macs_per_s": 16 * 10**9}
    assert found["cycles_total"] == 100
    assert found["latency_s"] == 1e-7
    assert found["throughput_per_s"] == 2 / 1e-7
    assert found["macs"] == 64
    assert found["utilization"] == 64 / 1600
    assert found["power_window_s"] == 1e-6
    assert found["dram"] == {
        "read_bytes": 64,
        "write_bytes": 128,
        "useful_bytes": 148,
        "row_hit_rate": 0.5,
        "bandwidth_utilization": pytest.approx(192 / 3840),
        "peak_bytes_per_s": 38_400_000_000,
        "memories": {
            "dram": {
                "read_bytes": 64,
                "write_bytes": 128,
                "useful_bytes": 148,
                "bandwidth_utilization": pytest.approx(192 / 3840),
            }
        },
    }
    assert found["bounds"] == {"area_mm2": "lower", "power_avg_w": "lower"}
    assert found["per_sample"] == {
        "samples": 2,
        "cycles": 50.0,
        "time_s": 5e-8,
        "energy_j": found["energy_j"] / 2,
        "macs": 32.0,
        "dram_bytes": 96.0,
    }
    assert found["mac_breakdown"]["launch"] == 10 * 16


def test_rows_of_layers_views_host_and_static() -> None:
    rows = {layer["name"]: layer for layer in result().to_json()["layers"]}
    assert list(rows) == ["gemm", "flat", "flat2", "odd", "lost", "_host", "_static"]
    gemm = rows["gemm"]
    assert (gemm["cycles_start"], gemm["cycles_end"], gemm["cycles_total"]) == (10, 60, 50)
    assert gemm["utilization"] == 64 / (50 * 16)
    assert gemm["stalls"] == {"stall_dram.weights": 18, "stall_sram_port.weights": 2, "launch": 10}
    assert (gemm["cycles_critical"], gemm["bound_by"]) == (50, "dram")  # 18 + 10 on DRAM, 20 of compute, 2 of port
    assert gemm["fused_with"] == ["relu"]
    assert rows["odd"]["on_host"] is True
    assert (rows["odd"]["cycles_critical"], rows["odd"]["bound_by"]) == (40, "launch")
    assert rows["_host"]["cycles_critical"] == 10
    assert rows["flat"]["view_of"] == "gemm"
    assert rows["flat"]["energy_j"] == rows["flat"]["cycles_total"] == 0
    assert rows["_static"]["energy_j"] > 0


def test_provenance() -> None:
    steady = Repetition("steady", 9, 2_000_000, 2, 0.001)
    summary = result(repetition=steady).to_json()
    assert summary["throughput_per_s"] == 1_000_000
    found = summary["provenance"]
    assert found == {
        "archsim_version": found["archsim_version"],
        "model_sha256": "m0del",
        "chip_sha256": CHIP.sha256,
        "options": {"objective": "latency"},
        "seed": 3,
        "fidelity": {"dram": "exact"},
        "repeat": {"mode": "steady", "warm": 8, "interval_s": 2e-06, "simulated": 2, "difference": 0.001},
        "warnings": ["from the model", *CHIP.warnings, "late"],
    }


def test_beyond_the_summary() -> None:
    found = result()
    assert found.critical["gemm"] == {"dram": 28, "sram_port": 2, "compute": 4, "edge_underfill": 16}
    assert found.area_mm2 == pytest.approx(sum(found.area_breakdown_mm2.values()))
    assert found.sources["mxu.energy.mac"].startswith("multiply: M. Horowitz")
    assert found.sources["l1.word"].startswith("by definition")  # the chip's own numbers too
    assert len(found.power_trace) == 1


def test_the_mapping_says_which_formats_were_used() -> None:
    mapping = ModelMapping("tiny", "small", "latency", (), (), {"weights": "bf16", "inputs": "bf16"})
    wide = assemble(model(), CHIP, run(), mapping, options={})
    assert wide.workload["weight_bytes"] == 2 * 16 + 4 * 4
    assert wide.energy_breakdown_j["mxu"] > result().energy_breakdown_j["mxu"]


def test_bytes_that_get_lost_are_an_error() -> None:
    short = replace(run(), dram={"dram": replace(run().dram["dram"], read_bytes=65)})
    with pytest.raises(SimulationError, match="DRAM bytes are not conserved"):
        assemble(model(), CHIP, short, options={})


def test_an_empty_run() -> None:
    empty = Activity("none", 0, 10**9, {"core[0].array": Records("core[0].array")}, {}, {}, BandwidthTrace({}), {})
    found = assemble(None, CHIP, empty, options={}).to_json()
    assert (found["cycles_total"], found["throughput_per_s"], found["energy_j"]) == (0, 0.0, 0.0)
    assert found["dram"]["row_hit_rate"] is None


def test_the_golden_program_without_a_model() -> None:
    """A Program given as text: rows are named by its layers, every sum holds, twice the same text."""
    chip = load(GOLDEN / "chip.yaml")
    program = parse_program((GOLDEN / "program.asm").read_text(encoding="utf-8"))
    texts = []
    for _ in range(2):
        found = assemble(None, chip, simulate(program, chip), options={}).to_json()
        check_sums(found)
        texts.append(json.dumps(found))
    assert texts[0] == texts[1]
    assert [layer["name"] for layer in found["layers"]] == [*program.layers, "_host", "_static"]
    assert found["macs"] == sum(layer["macs"] for layer in found["layers"])
    assert "per_sample" not in found  # of which batch a text does not say


def test_latency_is_not_rounded_to_cycles() -> None:
    base = run()
    longer = replace(base, total_ps=100 * NS + 1)
    found = assemble(model(), CHIP, longer, options={})
    assert found.cycles_total == 101
    assert found.latency_s == 100_001 / 10**12
