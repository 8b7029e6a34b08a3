"""The study of which DRAM to choose runs from its first cell to its last, and its tables say what they must."""

from __future__ import annotations

import pytest

from tests.tools.commands import ROOT
from tests.tools.studies import Tables, plots, stored

NOTEBOOK = ROOT / "studies" / "dram_choice.ipynb"
MOST_BYTES = 400_000
FIGURES = 4
STANDARDS = ("ddr4", "lpddr5", "gddr6", "hbm2")
MODELS = ("cnn", "decoder", "lookups")

pytestmark = pytest.mark.slow


def test_the_stored_notebook_is_small_and_ran_without_errors() -> None:
    assert plots(stored(NOTEBOOK, MOST_BYTES)) == FIGURES


def test_peaks_are_equal_and_no_run_is_faster_than_them(tables: Tables) -> None:
    peaks = {row["standard"]: row["peak_gb_s"] for row in tables["peak"].values()}
    assert peaks == {"ddr4": 51.2, "lpddr5": 51.2, "gddr6": 48.0, "hbm2": 51.2}
    rows = [row for name in ("peak", "pins", "channels") for row in tables[name].values()]
    assert len(rows) == 2 * len(STANDARDS) * len(MODELS) + 2 * len(MODELS)
    for row in rows:
        assert row["over"] >= 1 and 0 < row["of_peak"] < 1 and 0 < row["hits"] < 1
        assert row["gb_s"] == pytest.approx(row["of_peak"] * row["peak_gb_s"], rel=1e-3)


def test_streams_hit_rows_and_lookups_do_not(tables: Tables) -> None:
    for name in STANDARDS:
        stream, rows = (tables["peak"][f"{model} {name}"] for model in ("decoder", "lookups"))
        assert stream["hits"] > 0.9 > 0.6 > rows["hits"]
        assert stream["of_peak"] > 1.5 * rows["of_peak"]


def test_energy_per_bit_is_the_tables_where_all_is_in_the_bits(tables: Tables) -> None:
    for model in MODELS:
        bits = {name: tables["peak"][f"{model} {name}"]["pj_bit"] for name in STANDARDS}
        assert bits["lpddr5"] == pytest.approx(4.47, rel=1e-3) and bits["hbm2"] == pytest.approx(5.47, rel=1e-3)
        assert bits["ddr4"] > 15.73  # by command: activates, refreshes and standby on top
    ddr4 = {model: tables["peak"][f"{model} ddr4"]["pj_bit"] for model in MODELS}
    assert ddr4["lookups"] > ddr4["decoder"]


def test_what_a_line_carries_ranks_standards_where_bytes_bind(tables: Tables) -> None:
    by_peak = sorted(STANDARDS, key=lambda name: -float(tables["pins"][f"decoder {name}"]["peak_gb_s"]))
    times = [tables["pins"][f"decoder {name}"]["ms"] for name in by_peak]
    assert times == sorted(times) and by_peak == ["gddr6", "lpddr5", "ddr4", "hbm2"]


@pytest.mark.parametrize("model", MODELS)
def test_channels_speed_up_at_most_in_proportion(tables: Tables, model: str) -> None:
    one, four = (tables["channels"][f"{model} {channels}"] for channels in (1, 4))
    assert 1 < one["ms"] / four["ms"] <= 4.05
    assert four["waits"] <= one["waits"]


def test_fast_is_near_exact(tables: Tables) -> None:
    assert len(tables["certain"]) == 9 and all(abs(row["error"]) < 0.05 for row in tables["certain"].values())


def test_the_recommendation_follows_from_the_tables(tables: Tables) -> None:
    chosen = tables["recommendation"]["chosen"]
    assert chosen["board"] == "lpddr5" and chosen["known"] == "hbm2" and chosen["fastest_pins"] == "gddr6"


def test_the_study_is_linked() -> None:
    pages = (ROOT / "README.md", ROOT / "docs" / "dram.md")
    assert all(NOTEBOOK.name in page.read_text() for page in pages)
