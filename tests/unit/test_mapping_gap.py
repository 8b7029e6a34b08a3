"""map --gap: what a mapping is expected to take beside what the machine takes."""

from __future__ import annotations

import json

import pytest

from archsim.cli.app import main
from archsim.lab.run.job import Job
from archsim.lab.run.run import execute
from archsim.lab.what_if.gap import MappingGap, mapping_gap
from archsim.report.run.gap import to_table

CHIP = ("--on", "edge_npu")


@pytest.fixture(scope="module")
def found() -> MappingGap:
    return mapping_gap(Job("eye_tracking", "edge_npu"))


def test_the_network_is_the_one_that_a_run_simulates(found: MappingGap) -> None:
    done = execute(Job("eye_tracking", "edge_npu", schedule="layers")).result
    assert found.cycles_total == done.cycles_total
    critical = {row.name: row.cycles_critical for row in done.layers}
    assert {row.layer: row.critical_cycles for row in found.layers}.items() <= critical.items()
    assert found.launch_cycles == critical["_host"]
    assert sum(row.critical_cycles for row in found.layers) + found.launch_cycles == found.cycles_total


def test_a_layer_alone_takes_about_what_is_expected_of_it(found: MappingGap) -> None:
    large = [row for row in found.layers if row.expected_cycles >= 10_000]
    assert large
    for row in large:
        assert row.alone_cycles == pytest.approx(row.expected_alone_cycles, rel=0.02), row.layer
        assert sum(row.spent.values()) == row.alone_cycles


def test_those_furthest_off_come_first(found: MappingGap) -> None:
    off = [abs(row.off) for row in found.layers]
    assert off == sorted(off, reverse=True)
    assert found.expected_cycles == sum(row.expected_cycles for row in found.layers) + found.launch_cycles


def test_a_table_for_people(found: MappingGap) -> None:
    told = to_table(found.to_json(), 120)
    assert told.startswith(f"eye_tracking on edge_npu, by latency: expected {found.expected_cycles:,} cycles")
    assert all(row.layer in told for row in found.layers[:20])


def test_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code("map", "eye_tracking", *CHIP, "--gap", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "archsim.gap/1" and {row["late"] for row in told["layers"]} <= {True, False}
    assert set(told["layers"][0]) == {
        "layer", "op", "unit", "expected_alone_cycles", "expected_cycles", "alone_cycles", "critical_cycles",
        "bounded_by", "spent", "late",
    }  # fmt: skip


@pytest.mark.parametrize("other", [("--layer", "stage1"), ("--explain", "stage1")])
def test_it_tells_of_all_layers(other: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code("map", "eye_tracking", *CHIP, "--gap", *other) == 2
    assert "leave out --layer and" in capsys.readouterr().err


def _exit_code(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    return ended.value.code
