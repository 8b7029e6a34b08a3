"""Equal blocks of layers: which are found, what is left of the network, and what a steady run makes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import archsim as ax
from archsim.base.errors import ConfigError
from archsim.ir.blocks import KEPT, EqualBlocks, equal_blocks, shortened
from archsim.ir.workload import Workload
from archsim.lab.run import job
from tests.tools.small_transformers import written

BLOCKS = """\
schema: archsim.workload/1
name: blocks
description: dense layers with a sum, several times
source: made for tests
parameters: {{times: {times}}}
inputs: {{x: [1, 32, 64]}}
layers:
  - dense: {{name: first, input: x, out: 64}}
  - repeat: times
    name: block
    carry: h
    layers:
      - dense: {{name: up, input: h, out: 128, act: relu}}
      - dense: {{name: down, out: 64}}
      - add: {{name: sum, inputs: [down, h]}}
  - dense: {{name: last, out: {out}}}
outputs: [{outputs}]
"""


def model(folder: Path, times: int, outputs: str = "last") -> Path:
    """A model of so many blocks."""
    path = folder / f"blocks_{times}.yaml"
    path.write_text(BLOCKS.format(times=times, out=32, outputs=outputs), encoding="utf-8")
    return path


def workload(folder: Path, times: int, outputs: str = "last") -> Workload:
    """The same, loaded."""
    return ax.load_model(model(folder, times, outputs))


def test_the_blocks_that_spare_most_are_found(tmp_path: Path) -> None:
    found = equal_blocks(workload(tmp_path, 9))
    assert found is not None
    assert (found.size, found.times) == (2, 9) or (found.size, found.times) == (3, 9)
    assert len(found.left_out) == found.size * (9 - KEPT)


def test_few_blocks_are_none(tmp_path: Path) -> None:
    assert equal_blocks(workload(tmp_path, KEPT)) is None


def test_a_shortened_network_is_the_one_with_fewer_blocks(tmp_path: Path) -> None:
    whole, few = workload(tmp_path, 9), workload(tmp_path, KEPT)
    blocks = equal_blocks(whole)
    assert blocks is not None
    short = shortened(whole, blocks)
    assert [(layer.op, dict(layer.dims)) for layer in short.layers] == [
        (layer.op, dict(layer.dims)) for layer in few.layers
    ]
    made = {layer.output.tensor for layer in short.layers}
    read = {operand.tensor for layer in short.layers for operand in layer.inputs}
    assert read <= set(short.tensors)
    assert all(short.tensors[name].kind in ("input", "weight") or name in made for name in read)
    assert equal_blocks(short) is None


def test_what_later_layers_read_is_not_left_out(tmp_path: Path) -> None:
    """A sum over all blocks' results reads them all: nothing can be left out."""
    text = BLOCKS.format(times=6, out=32, outputs="last")
    text = text.replace(
        "  - dense: {name: last", "  - add: {name: all, inputs: [block.1.sum, block.3.sum]}\n  - dense: {name: last"
    )
    path = tmp_path / "joined.yaml"
    path.write_text(text, encoding="utf-8")
    assert equal_blocks(ax.load_model(path)) is None


@pytest.mark.parametrize("times", [5, 8])
def test_a_steady_run_sums_up_as_an_exact_one(tmp_path: Path, times: int) -> None:
    path = model(tmp_path, times)
    exact, steady = (ax.run(path, "edge_npu", repeat=mode).summary for mode in ("exact", "steady"))
    (block,) = steady["provenance"]["repeat"]["blocks"]
    assert (block["times"], block["simulated"]) == (times, KEPT)
    assert [layer["name"] for layer in steady["layers"]] == [layer["name"] for layer in exact["layers"]]
    assert sum(layer["cycles_critical"] for layer in steady["layers"]) == steady["cycles_total"]
    assert steady["macs"] == exact["macs"]
    assert steady["cycles_total"] == pytest.approx(exact["cycles_total"], rel=0.03)
    assert steady["energy_j"] == pytest.approx(exact["energy_j"], rel=0.03)
    for key in ("read_bytes", "write_bytes"):
        assert steady["dram"][key] == exact["dram"][key]
    for unit, causes in steady["time_breakdown"].items():
        assert sum(causes.values()) == steady["cycles_total"], unit


def test_queues_do_one_thing_at_a_time_in_a_steady_run(tmp_path: Path) -> None:
    activity = ax.run(model(tmp_path, 7), "edge_npu", repeat="steady").result.activity
    assert activity is not None
    for records in activity.records.values():
        assert all(one.end_ps <= other.head_ps <= other.start_ps <= other.end_ps for one, other in pairwise(records))
        for record in records:
            if record.critical is not None:
                unit, index = record.critical
                assert activity.records[unit][index].end_ps <= record.start_ps


def test_transfers_over_time_sum_to_the_totals(tmp_path: Path) -> None:
    activity = ax.run(model(tmp_path, 9), "edge_npu", repeat="steady").result.activity
    assert activity is not None
    for name, stats in activity.dram.items():
        streams = activity.bandwidth.transfers(name)
        assert streams is not None
        read = int(streams.size_bytes[~streams.write].sum()), int(streams.size_bytes[streams.write].sum())
        assert read == (stats.useful_read_bytes, stats.useful_write_bytes)
        for key in ("row_hits", "row_misses", "row_conflicts", "activates"):
            assert int(streams.column(key).sum()) == getattr(stats, key), key


def test_a_mapping_is_exported_for_every_layer_and_runs(tmp_path: Path) -> None:
    path = model(tmp_path, 7)
    steady = ax.run(path, "edge_npu", repeat="steady")
    steady.save(tmp_path / "out")
    again = ax.run(path, "edge_npu", mapping=tmp_path / "out" / "mappings.yaml")
    assert again.summary["macs"] == steady.summary["macs"]
    with pytest.raises(ConfigError, match="states a mapping"):
        ax.run(path, "edge_npu", mapping=tmp_path / "out" / "mappings.yaml", repeat="steady")


def test_a_run_leaves_out_by_itself_what_is_half_of_a_large_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine blocks of which four are simulated, and five; not beside a mapping file, nor where it is asked for."""
    many, few = model(tmp_path, 9), model(tmp_path, 5)
    assert ax.run(many, "edge_npu").summary["provenance"]["repeat"] == "exact"
    monkeypatch.setattr(job, "_LEAST_LEFT_OUT", 1)
    asked, steady = ax.run(many, "edge_npu"), ax.run(many, "edge_npu", repeat="steady")
    assert asked.summary == steady.summary
    assert any(
        "9 equal blocks" in text and "--repeat exact" in text for text in asked.summary["provenance"]["warnings"]
    )
    asked.save(tmp_path / "out")
    stated = ax.run(many, "edge_npu", mapping=tmp_path / "out" / "mappings.yaml")
    exact = [
        stated,
        ax.run(few, "edge_npu"),
        ax.run(many, "edge_npu", warm=2),
        ax.run(many, "edge_npu", repeat="exact"),
    ]
    assert [each.summary["provenance"]["repeat"] for each in exact[:2] + exact[3:]] == ["exact"] * 3
    assert exact[2].summary["provenance"]["repeat"]["mode"] == "exact"


def test_without_equal_blocks_all_is_simulated() -> None:
    exact, steady = (ax.run("eye_tracking", "edge_npu", repeat=mode).summary for mode in ("exact", "steady"))
    assert steady["provenance"].pop("repeat") == {"mode": "steady", "blocks": []}
    assert exact["provenance"].pop("repeat") == "exact"
    assert steady == exact


def test_a_program_has_no_blocks(tmp_path: Path) -> None:
    path = tmp_path / "one.asm"
    path.write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="no blocks of layers"):
        ax.run(path, "edge_npu", repeat="steady")


def test_left_out_lies_between_the_third_and_the_last() -> None:
    blocks = EqualBlocks(10, 3, 6)
    assert (blocks.middle, blocks.left_out) == (range(16, 19), range(19, 25))


@pytest.mark.parametrize(("family", "fields"), [("deepseek_v3", {"first_k_dense_replace": 3}), ("llama", {})])
def test_a_tensor_that_two_blocks_write_parts_of_is_whole(tmp_path: Path, family: str, fields: dict[str, int]) -> None:
    """A run of equal blocks may begin in the middle of a decoder's layer, between two that write parts of a tensor."""
    path = written(tmp_path, family, num_hidden_layers=12, **fields)
    model = f"{path}:decode"
    whole = ax.load_model(model)
    blocks = equal_blocks(whole)
    assert blocks is not None
    short = shortened(whole, blocks)
    writers = [Counter(_written(workload)) for workload in (whole, short)]
    assert {name: writers[0][name] for name in writers[1]} == dict(writers[1])
    exact, steady = (ax.run(model, "edge_npu", repeat=mode).summary for mode in ("exact", "steady"))
    assert steady["provenance"]["repeat"]["blocks"] and steady["macs"] == exact["macs"]
    assert steady["cycles_total"] == pytest.approx(exact["cycles_total"], rel=0.03)


def _written(workload: Workload) -> Iterator[str]:
    """The tensor that each layer writes, or writes a part of."""
    for layer in workload.layers:
        name = layer.output.tensor
        while (view := workload.tensors[name].view) is not None:
            name = view.base
        yield name
