"""The study of the glasses' power budget runs from its first cell to its last, and its tables say what they must."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.commands import ROOT
from tests.tools.studies import Tables, stored

NOTEBOOK = ROOT / "studies" / "ar_glasses_power_budget.ipynb"
MOST_BYTES = 300_000

pytestmark = pytest.mark.slow


def test_the_stored_notebook_is_small_and_ran_without_errors() -> None:
    outputs = stored(NOTEBOOK, MOST_BYTES)
    assert any("Build" in output.get("data", {}).get("text/markdown", "") for output in outputs)


def test_streams_and_rest_are_the_average(tables: Tables) -> None:
    rows = tables["where"]
    assert list(rows) == ["slow", "fast"]
    for row in rows.values():
        assert row["eye_mw"] + row["hand_mw"] + row["rest_mw"] == pytest.approx(row["average_mw"])
        parts = row["dram_mw"] + row["sram_mw"] + row["array_mw"] + row["vector_mw"]
        assert parts == pytest.approx(row["average_mw"])
        assert row["at_rest_mw"] < row["average_mw"] < row["peak_mw"] and row["misses"] == 0


def test_lower_voltage_takes_less_power_and_longer(tables: Tables) -> None:
    slow, fast = tables["where"].values()
    assert slow["array_mw"] < fast["array_mw"] and slow["load"] > fast["load"]


def test_every_point_of_the_grid_is_there(tables: Tables) -> None:
    rows = list(tables["grid"].values())
    assert len(rows) == 8 and all(row["meets"] and row["mw"] > 0 for row in rows)
    largest = max(row["kib"] for row in rows)
    areas = {row["kib"]: row["area_mm2"] for row in rows}
    assert areas[largest] == max(areas.values()) and len(areas) == 2
    by_memory = {name: [row["mw"] for row in rows if row["memory"] == name] for name in ("LPDDR5", "LPDDR4")}
    assert all(cheap < dear for cheap, dear in zip(*by_memory.values(), strict=True))  # 4.5 against 8 pJ a bit
    assert all(abs(row["error"]) < 0.05 for row in tables["exact"].values())


def test_cuts_shorten_the_wait_and_cost_nothing(tables: Tables) -> None:
    rows = tables["queue"]
    assert {row["mhz"] for row in rows.values()} == {6, 200}
    for mhz in (6, 200):
        whole, cut = rows[f"edf {mhz}"], rows[f"edf, cut at layers {mhz}"]
        assert cut["eye_worst_ms"] <= whole["eye_worst_ms"] and cut["mw"] == pytest.approx(whole["mw"])
        assert cut["load"] == whole["load"] < 1
    assert rows["edf 6"]["eye_misses"] > 0 == rows["edf, cut at layers 6"]["eye_misses"]
    assert 0.8 * rows["edf 200"]["mw"] < rows["edf 6"]["mw"] < rows["edf 200"]["mw"]  # clocks run at rest as well


def test_the_recommendation_is_the_best_point_and_its_range_holds_it(tables: Tables) -> None:
    chosen = tables["recommendation"]["chip"]
    assert chosen["mw"] == min(row["mw"] for row in tables["grid"].values() if row["meets"])
    assert chosen["low_mw"] < chosen["mw"] < chosen["high_mw"]
    assert tables["cases"]["as it is"]["recommended_mw"] == chosen["mw"]
    assert all(row["best_mw"] <= row["recommended_mw"] for row in tables["cases"].values())


def test_the_study_is_linked() -> None:
    pages = (ROOT / "README.md", ROOT / "docs" / "scenarios.md")
    assert all(Path(NOTEBOOK).name in page.read_text() for page in pages)
