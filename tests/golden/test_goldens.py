"""The goldens: one small workload, mapping, Program, sweep and Activity on the golden chip, and how they hang together.

``python -m tests.golden.test_goldens`` writes activity.json anew; look at the difference before you keep it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archsim.ir.activity import Activity
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.mapping import check_mapping
from archsim.ir.check.program import check
from archsim.ir.check.workload import check_workload
from archsim.ir.mapping import Keep, Loop, ModelMapping
from archsim.ir.program import Program
from archsim.ir.text import (
    checked_workload,
    mapping_from_yaml,
    mapping_to_yaml,
    workload_from_yaml,
    workload_to_yaml,
)
from archsim.ir.unroll import unroll
from archsim.ir.workload import Workload
from archsim.lab.sweep.form import read
from archsim.lab.sweep.points import SweepGrid
from archsim.spec.architecture import Architecture
from archsim.spec.load import load
from archsim.system import simulate
from mapper.compile import Options, compile_model
from mapper.execute.run import Executor

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"


def text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def chip() -> Architecture:
    return load(HERE / "chip.yaml")


@pytest.fixture(scope="module")
def workload() -> Workload:
    return workload_from_yaml(text("workload.yaml"), "workload.yaml")


@pytest.fixture(scope="module")
def mapping() -> ModelMapping:
    return mapping_from_yaml(text("mapping.yaml"), "mapping.yaml")


@pytest.fixture(scope="module")
def program() -> Program:
    return parse_program(text("program.asm"), "program.asm")


# every noun: its text form and its checker ---------------------------------------------------------------------------


def test_workload_round_trips_and_is_accepted(workload: Workload) -> None:
    assert workload_from_yaml(workload_to_yaml(workload)) == workload
    check_workload(workload)
    assert workload.macs == 12 * 12 * 16 * 9 * 8 + 12 * 12 * 8 * 16
    assert workload.parameters == sum(t.elements for t in workload.tensors.values() if t.kind == "weight")


def test_workload_of_blocks_is_written_as_it_was_read() -> None:
    """Its outer block that is; what repeats inside stands layer by layer."""
    blocks = checked_workload(text("workload_blocks.yaml"), "workload_blocks.yaml")
    written = workload_to_yaml(blocks)
    assert workload_from_yaml(written) == blocks
    assert [layer.name for layer in blocks.layers[:4]] == [
        *("layers[0].norm", "layers[0].up", "layers[0].again[0].mix", "layers[0].again[1].mix")
    ]
    assert written.count("block:") == 1 and "carry: {y: x}" in written and "name: again[1].mix" in written


def test_mapping_round_trips_and_is_accepted(mapping: ModelMapping, workload: Workload, chip: Architecture) -> None:
    assert mapping_from_yaml(mapping_to_yaml(mapping)) == mapping
    check_mapping(mapping, workload, chip)


def test_program_round_trips_and_is_accepted(program: Program, chip: Architecture) -> None:
    assert parse_program(print_program(program)) == program
    check(program, chip)


def test_sweep_is_accepted() -> None:
    assert len(SweepGrid(read(text("sweep.yaml"), "sweep.yaml"))) == 12


def test_assembly_page_shows_the_golden_program() -> None:
    example = "\n".join(f"    {line}" if line else "" for line in text("program.asm").splitlines())
    assert (DOCS / "assembly.md").read_text(encoding="utf-8").endswith(example + "\n")


# the Program is the Mapping of the Workload --------------------------------------------------------------------------


def test_program_follows_mapping_and_workload(program: Program, mapping: ModelMapping, workload: Workload) -> None:
    assert program.layers == tuple(layer.name for layer in workload.layers)
    assert (program.name, program.chip) == (mapping.workload, mapping.chip)
    for item in mapping.placements:
        tensor = next(tensor for tensor in program.tensors if tensor.name == item.tensor)
        assert (tensor.memory, tensor.base, tensor.size_bytes) == (item.memory, item.base, item.size_bytes)
        assert tensor.shape == workload.tensors[item.tensor].shape
        assert tensor.preloaded == (workload.tensors[item.tensor].kind in ("input", "weight"))


def test_rings_are_the_keeps(program: Program, mapping: ModelMapping) -> None:
    names = {"a": "x", "b": "w", "bias": "b", "out": "y", "acc": "acc"}
    keeps, sliding = {}, []
    for layer in mapping.layers:
        for index, node in enumerate(layer.nodes):
            if isinstance(node, Keep):
                name = f"{layer.layer}.{names[node.operand]}"
                keeps[name] = (node.level, node.slots)
                sliding += [name] if node.reserve_at != index else []
    assert {ring.name: (ring.memory, ring.slots) for ring in program.rings} == keeps
    assert [ring.name for ring in program.rings if ring.retain] == sliding == ["conv1.x"]


def test_loops_make_the_trips(program: Program, mapping: ModelMapping, workload: Workload) -> None:
    array = next(queue for queue in program.queues if queue.engine == "array")
    for layer, mapped in zip(workload.layers, mapping.layers, strict=True):
        trips = 1
        for node in mapped.nodes:
            if isinstance(node, Loop):
                trips *= -(-layer.dims[node.dim] // node.tile)
        assert sum(step.command.layer == layer.name for step in unroll(array)) == trips


# numbers ------------------------------------------------------------------------------------------------------


def reference(values: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """y2 in plain NumPy; requantisation is the identity in the executor."""
    padded = np.pad(values["x"], ((0, 0), (1, 1), (1, 1), (0, 0)))
    y1 = np.zeros((1, 12, 12, 16)) + values["b1"]
    for r in range(3):
        for s in range(3):
            y1 += padded[:, r : r + 12, s : s + 12] @ values["w1"][:, r, s].T
    return np.maximum(y1, 0) @ values["w2"].T


def values_of(program: Program) -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    return {
        tensor.name: random.integers(-8, 8, tensor.shape).astype(float)
        for tensor in program.tensors
        if tensor.preloaded
    }


def execute(program: Program, values: dict[str, np.ndarray[Any, Any]], seed: int) -> np.ndarray[Any, Any]:
    executor = Executor(program, numbers="float64", seed=seed)
    for name, value in values.items():
        executor.fill(name, value)
    executor.run()
    return executor.values("y2")


def test_program_and_compiled_workload_compute_the_model(
    program: Program, workload: Workload, chip: Architecture
) -> None:
    values = values_of(program)
    compiled = compile_model(workload, chip, Options()).program
    check(compiled, chip)
    for computed in (execute(program, values, 1), execute(compiled, values, 1)):
        assert np.array_equal(computed, reference(values))


# what the machine makes of it --------------------------------------------------------------------------------------


def activity_form(activity: Activity) -> dict[str, Any]:
    """An Activity as JSON types. A record: index, name, layer, role, head, start, end, critical, phases, MACs."""
    return {
        "schema": "archsim.activity/1",
        "program": activity.program,
        "total_ps": activity.total_ps,
        "clock_hz": activity.clock_hz,
        "records": {
            unit: [
                [r.index, r.name, r.op, r.layer, r.role, r.head_ps, r.start_ps, r.end_ps]
                + [list(r.critical) if r.critical else None, [list(p) for p in r.phases], r.macs, r.slots_per_cycle]
                for r in records
            ]
            for unit, records in activity.records.items()
        },
        "counts": [[*key, count] for key, count in sorted(activity.counts.items())],
        "dram": {
            name: {field: getattr(stats, field) for field in type(stats).__dataclass_fields__}
            for name, stats in activity.dram.items()
        },
        "fidelity": dict(activity.fidelity),
        "bandwidth": [list(stream) for stream in activity.bandwidth],
    }


def activity_text(activity: Activity) -> str:
    """The form as JSON with one record, count or stretch of traffic to a line."""
    form = activity_form(activity)
    rows = {unit: [json.dumps(row) for row in rows] for unit, rows in form["records"].items()}
    records = ",\n".join(
        f"  {json.dumps(unit)}: [\n   " + ",\n   ".join(lines) + "\n  ]" for unit, lines in rows.items()
    )
    parts = [
        f' "{key}": {json.dumps(form[key])}'
        for key in ("schema", "program", "total_ps", "clock_hz", "dram", "fidelity")
    ]
    parts.append(f' "records": {{\n{records}\n }}')
    for key in ("counts", "bandwidth"):
        parts.append(f' "{key}": [\n  ' + ",\n  ".join(json.dumps(row) for row in form[key]) + "\n ]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def test_activity_is_the_golden_one(program: Program, chip: Architecture) -> None:
    expected = json.loads(text("activity.json"))
    found = json.loads(activity_text(simulate(program, chip)))
    for key, value in expected.items():
        assert found[key] == value, key
    assert found.keys() == expected.keys()


def test_load_queue_by_hand(program: Program, chip: Architecture) -> None:
    """DRAM moves 8 bytes in a cycle of 1 ns; padding costs no DRAM time; a move starts when its tokens are there.

    load_b 64 B: 0-8. load_w 1152 B: 8-152. load_top rows 0-5 of 96 B: 72 cycles, 152-224. load_x rows 6-10: 60 cycles,
    224-284. The third strip waits for slot 0, which conv1.mm[p=0, q=1] frees (5264, see below); row 11: 12 cycles,
    5264-5276. load_w of conv2 128 B: 5276-5292. Its inputs are 60, 60 and 24 pixels of 16 B: 120, 120 and 48 cycles,
    once y1.ready is signalled by the stores (5444, 10484, 12824); the third also waits for slot 0, free at 13360.
    """
    records = simulate(program, chip).records["core[0].load"]
    spans = [(0, 8), (8, 152), (152, 224), (224, 284), (5264, 5276), (5276, 5292)]
    spans += [(5444, 5564), (10484, 10604), (13360, 13408)]
    assert [(r.start_ps, r.end_ps) for r in records] == [(start * 1000, end * 1000) for start, end in spans]


def test_array_queue_by_hand(program: Program, chip: Architecture) -> None:
    """A 4x4 weight-stationary array takes ceil(K/4) ceil(N/4) (M + 2*4 + 4 - 2) cycles for a tile.

    conv1: K = 3*3*8 = 72, N = 8, M = 60, 60, 24 pixels: 36 (M + 10) = 2520, 2520, 1224 cycles, each twice, from 224 on:
    12752. conv2: K = 8, N = 8: 4 (M + 10) = 280, 280, 136, each twice; it starts when conv1's last accumulators are
    drained: 24 pixels of 8 channels on 4 lanes are 48 cycles, 12800. The end: 12800 + 2 (280 + 280 + 136) = 14192.
    Then the last drain, 48 cycles, and the last store, 24 pixels of 8 B: 24 cycles. 14264 cycles in all.
    """
    activity = simulate(program, chip)
    tiles = [36 * (m + 10) for m in (60, 60, 24)] + [4 * (m + 10) for m in (60, 60, 24)]
    records = activity.records["core[0].array"]
    assert [r.end_ps - r.start_ps for r in records] == [cycles * 1000 for cycles in tiles for _ in range(2)]
    assert records[0].start_ps == 224_000
    assert (records[6].start_ps, records[-1].end_ps) == (12_800_000, 14_192_000)
    assert activity.total_ps == (14192 + 48 + 24) * 1000
    assert sum(r.macs for r in records) == 165_888 + 18_432


def test_traffic_by_hand(program: Program, chip: Architecture) -> None:
    """Every byte of x, w1, b1, w2 and y1 is read once, every byte of y1 and y2 written once: the halo stays on chip."""
    stats = simulate(program, chip).dram["dram"]
    assert stats.useful_read_bytes == 1152 + 1152 + 64 + 128 + 2304
    assert stats.useful_write_bytes == 2304 + 1152


if __name__ == "__main__":
    golden = parse_program(text("program.asm"), "program.asm")
    made = activity_text(simulate(golden, load(HERE / "chip.yaml")))
    (HERE / "activity.json").write_text(made, encoding="utf-8", newline="\n")
