"""What was measured of fidelity cost on a chip itself is said where it is wider than the band of its class."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path

import pytest

from archsim.lab.sweep import band, cases, ranks
from archsim.lab.sweep.form import Sweep, read
from archsim.lab.sweep.questions import SweepTable
from archsim.lab.sweep.table import table
from archsim.spec.load import lineage
from tests.tools.commands import ROOT

FOLDER = ROOT / "studies" / "validation" / "cost_band"


def sweep(chip: str, goals: str = "latency_s, energy_j") -> Sweep:
    return read(
        f"name: s\nchip: {chip}\nmodels: [m]\naxes: {{l1.size: [1 KiB, 2 KiB]}}\nobjectives: [{goals}]\n"
        "fidelity: cost\n"
    )


def said(chip: str, cores: int = 1, goals: str = "latency_s, energy_j") -> str:
    rows = [
        {
            **{"point": point, "model": "m", "fidelity": "cost", "cores": cores, "values": {"l1.size": "1 KiB"}},
            **{
                "status": "ok",
                "reason": "",
                "numbers": {"latency_s": 1.0 + point / 50, "energy_j": 1.0, "area_mm2": 1.0},
            },
        }
        for point in range(2)
    ]
    return " ".join(ranks.of_model(SweepTable.of(table(sweep(chip, goals), rows)), "m"))


def test_bands_of_chips_are_those_of_their_stored_cases() -> None:
    """Computed by the code of the classes from the same cases; nothing is typed in."""
    found = cases.read(FOLDER / "cases.csv")
    stored = json.loads((FOLDER / "bands.json").read_text(encoding="utf-8"))["chips"]
    assert stored == cases.by_chip(found) and set(stored) == {case.chip for case in found}
    for chip, own in stored.items():
        for name, figures in own.items():
            alone = [case for case in found if case.chip == chip]
            gaps = cases.differences(alone, "latency_s", name)
            assert figures["pairs"] == len(gaps) and figures["band"]["latency_s"] == cases.percentile(gaps)
    assert (
        sum(own["one_core"]["pairs"] for own in stored.values() if "one_core" in own)
        == (json.loads((FOLDER / "bands.json").read_text(encoding="utf-8"))["classes"]["one_core"]["pairs"])
    )


@pytest.mark.parametrize("chip", sorted(band.stored_of_chips()))
def test_a_wider_band_of_the_chip_itself_is_said(chip: str) -> None:
    (name,) = band.stored_of_chips()[chip]
    cores = 1 if name == "one_core" else 4
    text, wider = said(chip, cores), []
    for goal in ("latency_s", "energy_j"):
        own, of_class = band.stored_of_chips()[chip][name][goal], band.stored()[name][goal]
        shown = f"{band.shown(exp(own))} in {goal}"
        wider += [shown] if own > of_class else []
    verb = "was" if len(wider) == 1 else "were"
    expected = f"; on {chip} itself {' and '.join(wider)} {verb} measured." if wider else ""
    assert expected in text and ("itself" in text) == bool(wider)
    assert f"its band is {band.shown(exp(band.stored()[name]['latency_s']))} in latency_s" in text  # which decides


def test_figures_without_a_band_are_not_said_of() -> None:
    assert "itself" not in said("nvdla_large", goals="area_mm2")
    assert "itself" in said("nvdla_large", goals="latency_s, area_mm2")


def test_a_chip_that_extends_a_measured_one_by_name_is_told_of_it(tmp_path: Path) -> None:
    first, second = tmp_path / "a100.yaml", tmp_path / "mine.yaml"
    first.write_text("schema: archsim.chip/1\nname: a100\nextends: edge_npu\n", encoding="utf-8")
    second.write_text("schema: archsim.chip/1\nname: mine\nextends: ./a100.yaml\n", encoding="utf-8")
    assert lineage(second) == ["edge_npu"] and lineage("edge_npu") == ["edge_npu"]
    assert band.measured(str(second)) == "edge_npu"  # a file that is called as a measured chip is not that chip
    assert "on edge_npu itself" in said(str(second))
    second.write_text((ROOT / "configs/accelerators/edge_npu.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert band.measured(str(second)) == "" and "itself" not in said(str(second))
    assert band.measured(str(tmp_path / "gone.yaml")) == ""
