"""The band of fidelity cost: what it is of, how it is stored, which figures have it."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from math import exp, log
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from archsim.base.errors import ConfigError
from archsim.lab.sweep import band, cases
from archsim.lab.sweep.cases import SweepCase
from archsim.spec import load
from tests.tools.commands import ROOT

FOLDER = ROOT / "studies" / "validation" / "cost_band"
BANDS = {"one_core": {"latency_s": 0.1, "energy_j": 0.02}, "many_cores": {"latency_s": 1.0, "energy_j": 0.5}}


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cost_band", ROOT / "studies" / "validation" / "cost_band.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def case(point: int, ratio: float, *, sweep: int = 0, cores: int = 1, energy: float = 1.0) -> SweepCase:
    return SweepCase("m", "c", sweep, point, "", cores, "exact", "ok", ratio, 1.0, energy * 2.0, 2.0)


def test_the_stored_bands_are_those_of_the_stored_cases(study: ModuleType) -> None:
    """bands.json is computed: who measures again and forgets to write it, or edits it, fails here."""
    stored = (FOLDER / "bands.json").read_text(encoding="utf-8")
    assert stored == study.text(cases.read(FOLDER / "cases.csv"))
    classes = json.loads(stored)["classes"]
    assert band.stored() == {name: own["band"] for name, own in classes.items()}


def test_docs_say_the_measured_bands(study: ModuleType) -> None:
    """The tables that the study prints, as they stand in docs/sweeps.md."""
    assert study.tables(cases.read(FOLDER / "cases.csv")) in (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")


def test_at_least_twelve_models_on_every_chip(study: ModuleType) -> None:
    """Pairs count: a model on a chip is measured where two points of its sweep or more have results."""
    points: dict[tuple[str, str], int] = {}
    for found in cases.read(FOLDER / "cases.csv"):
        points[found.chip, found.model] = points.get((found.chip, found.model), 0) + (found.status == cases.OK)
    for chip in load.names():
        assert sum(count >= 2 for (on, _), count in points.items() if on == chip) >= 12, chip


def test_the_stored_cases_are_those_that_the_study_states(study: ModuleType) -> None:
    stated = yaml.safe_load((FOLDER / "sweeps.yaml").read_text(encoding="utf-8"))
    asked = [(place.label, place.chip, place.sweep, place.point) for place in study._places(stated)]
    found = cases.read(FOLDER / "cases.csv")
    assert [(each.model, each.chip, each.sweep, each.point) for each in found] == asked
    assert {each.simulated for each in found if each.cores == 1} == {"exact"}
    assert {each.simulated for each in found if each.cores > study.EXACT_CORES} == {"fast"}


def test_a_point_is_measured_by_both_models(study: ModuleType) -> None:
    model = study.SweepModel("gemm_4096", None, {"size": 64})
    gemm = study.Place(model, "g", "gemmini_16x16", 0, 3, {"clock": "0.9 GHz"})
    found = study.measured(gemm)
    assert (found.model, found.point, found.cores, found.simulated, found.status) == ("g", 3, 1, "exact", "ok")
    assert found.values == "clock=0.9 GHz" and 0.3 < exp(found.error("latency_s")) < 3
    none = study.measured(replace(gemm, values={"scratchpad.size": "64 B"}))
    assert none.status == "impossible" and none.reason and none.cost_latency_s is None


def test_the_percentile_is_a_measured_value() -> None:
    assert cases.percentile(list(range(1, 101))) == 95
    assert cases.percentile([3.0, 1.0, 2.0]) == 3.0 and cases.percentile([1.0] * 19 + [9.0]) == 1.0
    assert cases.percentile([4.0, 2.0, 1.0, 3.0], 50) == 2.0
    with pytest.raises(ConfigError, match="found no values"):
        cases.percentile([])


def test_only_points_of_one_sweep_are_compared_and_an_error_that_they_share_is_none() -> None:
    found = [case(0, 0.5), case(1, 0.5), case(0, 2.0, sweep=1), case(1, 2.2, sweep=1)]
    assert cases.differences(found, "latency_s", "one_core") == pytest.approx([0.0, log(1.1)])
    assert cases.differences(found, "energy_j", "one_core") == [0.0, 0.0]


def test_a_pair_is_of_the_class_of_the_one_with_more_cores() -> None:
    found = [case(0, 1.0), case(1, 1.1, cores=4), case(2, 1.3, cores=16), case(3, 1.0, cores=0)]
    found[3] = replace(found[3], status="impossible")
    assert cases.differences(found, "latency_s", "one_core") == []
    assert len(cases.differences(found, "latency_s", "many_cores")) == 3
    with pytest.raises(ConfigError, match="no values"):
        cases.bands(found)


def test_cases_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    found = [case(0, 1 / 3), replace(case(1, 0.7), status="impossible", cost_latency_s=None, reason='no, "room"')]
    path.write_text(cases.text(found))
    assert cases.read(path) == found
    path.write_text(cases.text(found).replace("0.333", "a.333"))
    with pytest.raises(ConfigError, match=r"cases.csv:2: is no case"):
        cases.read(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        cases.read(tmp_path / "none.csv")
    with pytest.raises(ConfigError, match="latency_s of m on c, point 0: found 0.0"):
        case(0, 0.0).error("latency_s")


@pytest.mark.parametrize(
    ("key", "width"),
    [
        *(("latency_s", 0.1), ("cycles_total", 0.1), ("throughput_per_s", 0.1), ("utilization", 0.1)),
        *(("per_sample.time_s", 0.1), ("dram.bandwidth_utilization", 0.1), ("energy_j", 0.02)),
        *(("energy_breakdown_j.dram", 0.02), ("per_sample.energy_j", 0.02), ("edp_js", 0.12), ("power_avg_w", 0.12)),
        *(("area_mm2", 0.0), ("die_cost_usd", 0.0), ("macs", 0.0), ("per_sample.macs", 0.0), ("dram.read_bytes", 0.0)),
    ],
)
def test_which_figures_have_a_band(key: str, width: float) -> None:
    assert band.width(BANDS, key, 1) == pytest.approx(width)
    assert band.factor(BANDS, key, 1) == pytest.approx(exp(width))
    assert band.width({}, key, 1) == 0


def test_the_class_is_that_of_the_cores() -> None:
    assert band.width(BANDS, "latency_s", 2) == 1.0 and band.width(BANDS, "edp_js", 576) == 1.5
    assert band.shown(exp(0.1)) == "11 %" and band.shown(exp(1.0)) == "a factor of 2.7"


@pytest.mark.parametrize("text", ["{", "{}", '{"classes": {"one_core": {"band": {"latency_s": -1, "energy_j": 0}}}}'])
def test_damaged_bands_are_one_message(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bands.json").write_text(text)
    monkeypatch.setattr("archsim.lab.sweep.band.default_reference", lambda suite: tmp_path)
    with pytest.raises(ConfigError, match="bands.json: cannot be read as bands of fidelity cost"):
        band._stored.__wrapped__()


def test_missing_bands_are_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archsim.lab.sweep.band.SUITE", "none")
    with pytest.raises(ConfigError, match=r"the bands of fidelity cost are missing \(none/bands.json\)"):
        band._stored.__wrapped__()


def test_an_installed_package_has_them() -> None:
    """What the wheel takes beside its packages: the folder that ``stored`` looks for."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    taken = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert taken[f"studies/validation/{band.SUITE}"] == f"archsim/studies/validation/{band.SUITE}"
