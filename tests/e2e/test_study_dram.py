"""The study of DRAM runs from its first cell to its last, and its tables say what they must."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.commands import ROOT
from tests.tools.studies import Tables, stored

NOTEBOOK = ROOT / "studies" / "dram_matters.ipynb"
MOST_BYTES = 300_000
DECODER = "decoder"
MODELS = ("cnn", DECODER)
SLACK = 1.02  # arbitration, and a mapping that is best for one memory and not for another

pytestmark = pytest.mark.slow


def test_the_stored_notebook_is_small_and_ran_without_errors() -> None:
    assert stored(NOTEBOOK, MOST_BYTES)


@pytest.mark.parametrize("model", MODELS)
def test_more_bandwidth_is_never_slower_and_waits_less(tables: Tables, model: str) -> None:
    """The decoder's thin products may change between array and vector unit, and with it whose waits these are."""
    rows = [row for row in tables["bandwidth"].values() if row["model"] == model]
    by_channels = sorted((row for row in rows if row["speed_mts"] == 6400), key=lambda row: row["channels"])
    by_speed = sorted((row for row in rows if row["channels"] == 2), key=lambda row: row["speed_mts"])
    assert len(by_channels) == 4 and len(by_speed) == 3
    for ordered in (by_channels, by_speed):
        for slow, fast in zip(ordered, ordered[1:], strict=False):
            assert fast["peak_gb_s"] > slow["peak_gb_s"]
            assert fast["cycles"] <= SLACK * slow["cycles"]
            if model != DECODER:
                assert fast["stall_dram"] <= slow["stall_dram"] + (SLACK - 1) * slow["cycles"]
        if model != DECODER:
            assert ordered[-1]["stall_dram"] < ordered[0]["stall_dram"]


def test_no_run_is_faster_than_its_roofline(tables: Tables) -> None:
    """Each table whose rows state a roofline: bytes over the peak and MACs over the peak bound the cycles."""
    rows = [row for table in tables.values() for row in table.values() if "roofline" in row]
    assert len(rows) > 50
    assert all(row["cycles"] >= row["roofline"] and 0 < row["of_peak"] <= 1 for row in rows)


@pytest.mark.parametrize("model", MODELS)
def test_row_hits_fall_with_a_bad_map_and_time_rises(tables: Tables, model: str) -> None:
    default, bank, bad = (tables["maps"][f"{model} {name}"] for name in ("RoRaBaCoBg", "one bank", "row per burst"))
    assert default["row_hit_rate"] > 0.9 > 0.1 > bad["row_hit_rate"]
    assert bad["activates"] > 10 * default["activates"]
    assert default["cycles"] < bank["cycles"] < bad["cycles"]


def test_activates_cost_energy_where_the_table_has_them(tables: Tables) -> None:
    default, bad = (tables["maps"][f"ddr4 {name}"] for name in ("RoRaBaCoBg", "row per burst"))
    assert bad["dram_mj"] > default["dram_mj"] and bad["activates"] > default["activates"]


def test_standards_of_one_peak_differ_by_latency_and_refresh(tables: Tables) -> None:
    names = ("ddr3", "ddr4", "ddr5", "lpddr4", "lpddr5", "hbm2")
    rows = {name: tables["standards"][f"decoder {name}"] for name in names}
    still = {name: tables["standards"][f"decoder {name} none"] for name in names}
    assert {row["peak_gb_s"] for row in rows.values()} == {25.6}
    assert len({row["cycles"] for row in rows.values()}) == len(names)
    assert len({row["cycles"] for row in still.values()}) > 1
    for name in names:
        assert rows[name]["refreshes"] > 0 == still[name]["refreshes"]
        assert rows[name]["cycles"] > still[name]["cycles"]


def test_deeper_queues_are_never_slower(tables: Tables) -> None:
    for model in MODELS:
        cycles = [tables["control"][f"{model} queue {depth}"]["cycles"] for depth in (1, 4, 16, 32, 64)]
        assert all(deep <= SLACK * shallow for shallow, deep in zip(cycles, cycles[1:], strict=False))
    assert cycles[-1] < cycles[0]


def test_layouts_move_the_same_bytes(tables: Tables) -> None:
    rows = list(tables["layout"].values())
    assert len(rows) == 3 and all(row["moving"] == pytest.approx(rows[0]["moving"], rel=0.01) for row in rows)
    assert len({row["row_hit_rate"] for row in rows}) == 3


def test_fast_is_near_exact(tables: Tables) -> None:
    errors = {label: abs(row["fast"] / row["exact"] - 1) for label, row in tables["fidelity"].items()}
    assert len(errors) == 4 and max(errors.values()) < 0.05


def test_the_recommendation_is_one_of_the_points(tables: Tables) -> None:
    assert {row["channels"] for row in tables["recommendation"].values()} <= {1, 2, 4, 8}


def test_the_study_is_linked() -> None:
    pages = (ROOT / "README.md", ROOT / "docs" / "dram.md")
    assert all(Path(NOTEBOOK).name in page.read_text() for page in pages)
