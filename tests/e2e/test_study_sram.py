"""The study of SRAM against bandwidth runs from its first cell to its last, and its tables say what they must."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.tools.commands import ROOT
from tests.tools.studies import Tables, plots, stored

NOTEBOOK = ROOT / "studies" / "sram_vs_bandwidth.ipynb"
SWEEP = ROOT / "studies" / "sweeps" / "sram_vs_bandwidth.yaml"
SETTINGS = {"SWEEP": str(SWEEP)}
MOST_BYTES = 400_000
FIGURES = 5
SIZES, CHANNELS, ARRAYS = (0.125, 0.5, 2.0), (1, 2), ("16x16", "32x32")
SLACK = 1.02  # arbitration, and mappings that are chosen by bounds
IDLE = 1.02  # of energy: what a larger memory draws at rest may be more than the traffic it saves

pytestmark = pytest.mark.slow


def at(tables: Tables, array: str, channels: int, mib: float) -> dict[str, float]:
    """The point of the fast sweep."""
    wanted = (array, channels, mib)
    return next(row for row in tables["points"].values() if (row["array"], row["channels"], row["mib"]) == wanted)


def test_the_stored_notebook_is_small_and_ran_without_errors() -> None:
    assert plots(stored(NOTEBOOK, MOST_BYTES)) == FIGURES


def test_every_point_is_there_and_the_front_was_run_again(tables: Tables) -> None:
    points = tables["points"].values()
    assert len(points) == len(SIZES) * len(CHANNELS) * len(ARRAYS)
    front = {row["point"] for row in points if row["front"]}
    assert front and front == {row["point"] for row in tables["exact"].values()}


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("channels", CHANNELS)
def test_sram_takes_traffic_energy_and_time_away_for_area(tables: Tables, array: str, channels: int) -> None:
    rows = [at(tables, array, channels, mib) for mib in SIZES]
    for less, more in pairwise(rows):
        assert more["dram_mb"] < less["dram_mb"] and more["mj"] < IDLE * less["mj"]
        assert more["ms"] <= SLACK * less["ms"] and more["mm2"] > less["mm2"]
        assert more["mm2"] - less["mm2"] == pytest.approx(more["sram_mm2"] - less["sram_mm2"])


@pytest.mark.parametrize("array", ARRAYS)
def test_channels_buy_time_for_their_interface(tables: Tables, array: str) -> None:
    for mib in SIZES:
        one, two = (at(tables, array, channels, mib) for channels in CHANNELS)
        assert two["ms"] <= SLACK * one["ms"] and two["mm2"] > one["mm2"]
        assert two["waits for DRAM"] <= one["waits for DRAM"]


def test_margins_are_differences_of_points(tables: Tables) -> None:
    rows = list(tables["marginal"].values())
    assert len(rows) == len(ARRAYS) * (2 * len(CHANNELS) + len(SIZES))
    for row in rows:
        old = at(tables, row["array"], row["channels"], row["mib"])
        more = (row["channels"], row["to"]) if row["bought"] == "SRAM" else (row["to"], row["mib"])
        new = at(tables, row["array"], int(more[0]), more[1])
        assert row["ms_a_mm2"] == pytest.approx((old["ms"] - new["ms"]) / (new["mm2"] - old["mm2"]))


def test_losers_are_beaten_by_points_of_the_front(tables: Tables) -> None:
    front = {row["point"] for row in tables["points"].values() if row["front"]}
    losers = tables["losers"].values()
    assert len(losers) + len(front) == len(tables["points"])
    assert all(row["beaten_by"] in front and row["point"] not in front for row in losers)


def test_the_knee_is_the_least_of_its_array_and_the_recommendation_one_of_them(tables: Tables) -> None:
    knee = [row for row in tables["knee"].values() if row["case"] == "as modelled"]
    for row in knee:
        own = [point for point in tables["points"].values() if point["array"] == row["array"]]
        assert row["value"] == pytest.approx(min(point["ms"] * point["mj"] * point["mm2"] for point in own))
    chosen = tables["recommendation"]["chosen"]
    assert chosen["point"] in {row["point"] for row in knee}
    assert chosen["exact_ms"] == pytest.approx(chosen["ms"], rel=0.05)


def test_fast_is_near_exact_on_the_front(tables: Tables) -> None:
    assert all(abs(row["error"]) < 0.05 and abs(row["energy_error"]) < 0.01 for row in tables["certain"].values())


def test_the_study_is_linked() -> None:
    assert NOTEBOOK.name in (ROOT / "README.md").read_text()
