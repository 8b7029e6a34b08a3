"""The study of how many cores pay runs from its first cell to its last, and its tables say what they must."""

from __future__ import annotations

import pytest

from tests.tools.commands import ROOT
from tests.tools.studies import Tables, plots, stored

NOTEBOOK = ROOT / "studies" / "scaling_cores.ipynb"
CHIP = ROOT / "studies" / "scaling_cores.yaml"
SETTINGS = {"CHIP": str(CHIP)}
MOST_BYTES = 300_000
MODELS = ("cnn", "product")
CORES = (1, 4, 16)
SLACK = 1.02  # arbitration, and mappings that are chosen by bounds
IN_STEP = 1.15  # cores that get a tile at once wait for one another; those that read each for itself do not
LOSSES = (
    "useful MACs",
    "array: edges, fill, drain",
    "waits for the network",
    "waits for DRAM",
    "waits for other commands",
    "imbalance, idle, launch",
)

pytestmark = pytest.mark.slow


def test_the_stored_notebook_is_small_and_ran_without_errors() -> None:
    assert plots(stored(NOTEBOOK, MOST_BYTES)) == 5


def test_every_slot_has_one_cause(tables: Tables) -> None:
    rows = [row for name in ("scaling", "links", "fast", "exact") for row in tables[name].values()]
    assert len(rows) == 6 + 16 + 4
    for row in rows:
        assert sum(row[loss] for loss in LOSSES) == pytest.approx(1, abs=1e-9)
        assert row["useful MACs"] == pytest.approx(row["utilization"], rel=1e-9)


def test_no_run_is_faster_than_its_macs_or_its_bytes(tables: Tables) -> None:
    for row in (*tables["scaling"].values(), *tables["links"].values()):
        assert row["cycles"] >= max(row["mac_floor"], row["dram_floor"]) > 0


@pytest.mark.parametrize("model", MODELS)
def test_more_cores_are_faster_larger_and_less_efficient(tables: Tables, model: str) -> None:
    rows = [tables["scaling"][f"{model} {cores}"] for cores in CORES]
    for few, many in zip(rows, rows[1:], strict=False):
        assert many["cycles"] < few["cycles"] and many["area_mm2"] > few["area_mm2"]
        assert many["efficiency"] < few["efficiency"] and many["utilization"] < few["utilization"]
    assert rows[0]["speed_up"] == rows[0]["efficiency"] == 1


@pytest.mark.parametrize("model", ["blocks", "product"])
def test_wider_links_and_multicast_are_never_slower(tables: Tables, model: str) -> None:
    links = tables["links"]
    for cores in (4, 16):
        for way in ("multicast", "unicast"):
            assert links[f"{model} {cores} 64 {way}"]["cycles"] <= SLACK * links[f"{model} {cores} 16 {way}"]["cycles"]
        for link in (16, 64):
            cast, copies = (links[f"{model} {cores} {link} {way}"] for way in ("multicast", "unicast"))
            assert cast["cycles"] <= IN_STEP * copies["cycles"]
            assert cast["area_mm2"] == copies["area_mm2"]
    assert links[f"{model} 16 16 unicast"]["cycles"] > 1.1 * links[f"{model} 16 16 multicast"]["cycles"]


def test_energy_is_that_of_its_parts(tables: Tables) -> None:
    for row in tables["scaling"].values():
        parts = [row[f"{part}, mJ"] for part in ("DRAM", "shared SRAM", "network", "cores")]
        assert sum(parts) == pytest.approx(row["energy_mj"]) and min(parts) >= 0
    assert tables["scaling"]["cnn 16"]["network, mJ"] > tables["scaling"]["cnn 1"]["network, mJ"]


def test_fast_is_optimistic_where_the_network_is_crowded(tables: Tables) -> None:
    errors = [row["error"] for row in tables["certain"].values()]
    assert len(errors) == 2 and all(-0.3 < error < 0.02 for error in errors)


def test_the_recommendation_is_one_of_the_points(tables: Tables) -> None:
    assert {row["cores"] for row in tables["recommendation"].values()} <= set(CORES)


def test_the_study_is_linked() -> None:
    pages = (ROOT / "README.md", ROOT / "docs" / "noc.md")
    assert all(NOTEBOOK.name in page.read_text() for page in pages)
