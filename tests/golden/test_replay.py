"""The replay: every number of a small study grid is what it was, or the change is meant and in the file."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from archsim.lab.files import schemas

ROOT = Path(__file__).resolve().parents[2]
SUMMARY: dict[str, Any] = {
    **{key: 1.5 for key in ("throughput_per_s", "utilization", "power_avg_w", "power_peak_w", "area_mm2")},
    **{key: 2 for key in ("edp_js", "latency_s", "cycles_total", "energy_j", "macs")},
    "dram": {"read_bytes": 7, "write_bytes": 8, "row_hit_rate": 0.5},
    "mac_breakdown": {"useful": 3},
    "energy_breakdown_j": {"dram": 0.25},
    "time_breakdown": {"array": {"busy": 4}},
    "layers": [{"name": "conv", "macs": 9}],
    "details": {"critical": {"conv": {"compute": 4}}, "sources": {"clock": "by definition"}},
}


@pytest.fixture(scope="module")
def replay() -> Any:
    """studies/replay.py as a module."""
    spec = importlib.util.spec_from_file_location("replay", ROOT / "studies" / "replay.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["replay"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_nothing_differs(replay: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run ``make replay`` if the change of the model is meant, and read the diff. Results are valid by their schema."""
    wrong: list[str] = []
    entry = replay.entry

    def checked(summary: Any) -> Any:
        wrong.extend(f"{summary['workload']['name']}: {error.json_path}" for error in schema.iter_errors(summary))
        return entry(summary)

    schema = Draft202012Validator(json.loads(schemas.schema("result")))
    monkeypatch.setattr(replay, "entry", checked)
    changed = replay.differences(replay.stored(), replay.replay())
    assert wrong == []
    assert changed == [], "\n".join(["numbers changed; if that is meant: make replay", *changed])


def test_a_changed_number_changes_its_section_alone(replay: Any) -> None:
    before = replay.entry(SUMMARY)
    after = replay.entry({**SUMMARY, "layers": [{"name": "conv", "macs": 10}]})
    assert [key for key in before if before[key] != after[key]] == ["layers"]
    after = replay.entry({**SUMMARY, "cycles_total": 3})
    assert replay.differences({"p": before}, {"p": after}) == ["p: cycles_total (cycles_total 2 -> 3)"]


def test_explanations_are_not_numbers(replay: Any) -> None:
    details = {**SUMMARY["details"], "sources": {"clock": "a data sheet"}}
    assert replay.entry({**SUMMARY, "details": details}) == replay.entry(SUMMARY)


def test_points_that_come_and_go_are_named(replay: Any) -> None:
    assert replay.differences({}, {"new": {"macs": 1}}) == ["new: macs (macs None -> 1)"]
    assert replay.differences({"old": {"macs": 1}}, {}) == ["old: macs (macs 1 -> None)"]
