"""The study of dataflows runs from its first cell to its last, and its tables say what they must."""

from __future__ import annotations

import pytest

from tests.tools.commands import ROOT
from tests.tools.studies import Tables, plots, stored

NOTEBOOK = ROOT / "studies" / "dataflow_choice.ipynb"
MOST_BYTES = 400_000
FIGURES = 4
FLOWS = ("weight", "output", "input")
NETWORKS = ("squeezenet", "shufflenet")
SIDE = 32
LOSSES = (
    "edges",
    "fill and drain",
    "waits for DRAM",
    "waits for other commands",
    "ports of SRAM",
    "launch, idle",
)

pytestmark = pytest.mark.slow


def test_the_stored_notebook_is_small_and_ran_without_errors() -> None:
    assert plots(stored(NOTEBOOK, MOST_BYTES)) == FIGURES


def test_chips_are_equal_and_slots_are_accounted_for(tables: Tables) -> None:
    rows = list(tables["networks"].values())
    assert len(rows) == 3 * (len(NETWORKS) + 2)
    for row in rows:
        assert row["utilization"] + sum(row[loss] for loss in LOSSES) == pytest.approx(1, abs=1e-9)
    areas = [row["mm2"] for row in rows if row["side"] == SIDE]
    assert max(areas) < 1.01 * min(areas)
    macs = {(row["network"], row["batch"]): row["macs"] for row in rows}
    assert all(row["macs"] == macs[row["network"], row["batch"]] for row in rows)


@pytest.mark.parametrize("network", NETWORKS)
def test_critical_paths_of_layers_tile_the_run(tables: Tables, network: str) -> None:
    """All of it but the host's launch."""
    for flow in FLOWS:
        own = [row for row in tables["layers"].values() if (row["network"], row["flow"]) == (network, flow)]
        whole = next(
            row["cycles"]
            for row in tables["networks"].values()
            if (row["network"], row["flow"], row["side"], row["batch"]) == (network, flow, SIDE, 1)
        )
        assert sum(row["cycles"] for row in own) == whole - 2000


def test_no_layer_on_the_array_is_faster_than_what_fits(tables: Tables) -> None:
    """A kind's layers take at least their MACs at the peak."""
    assert all(row["cycles"] >= row["ideal"] > 0 for row in tables["kinds"].values())
    assert all(0 < fit <= 1 for row in tables["fit"].values() for fit in row.values())
    assert next(iter(tables["foreseen"].values()))["right"] > 0.9


def test_sums_lead_in_groups_and_weights_in_convolutions(tables: Tables) -> None:
    over = {(row["kind"], row["flow"]): row["over"] for row in tables["kinds"].values()}
    assert over["grouped, depthwise", "output"] < over["grouped, depthwise", "weight"]
    assert over["1 x 1 convolution", "weight"] < over["1 x 1 convolution", "input"]


def test_a_second_dataflow_wins_no_less_than_the_better_of_the_two(tables: Tables) -> None:
    for row in tables["gain"].values():
        home = row["best single"]
        pairs = {name: value for name, value in row.items() if "+" in name and "careful" not in name}
        assert len(pairs) == 3 and row["all three"] >= max(pairs.values()) >= 0
        for name, value in pairs.items():
            assert row[f"{name}, careful"] <= value + 1e-12
            assert value >= 0 or home not in name.split("+")


def test_the_recommendation_is_the_fastest_in_the_mean(tables: Tables) -> None:
    mean = tables["mean"]
    assert tables["recommendation"]["chosen"]["flow"] == min(FLOWS, key=lambda flow: mean[flow]["cycles"])


def test_the_study_is_linked() -> None:
    assert NOTEBOOK.name in (ROOT / "README.md").read_text()
