"""The front door as a notebook uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

import archsim as ax
from tests.tools.commands import GOLDEN


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARCHSIM_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def chip() -> ax.Architecture:
    return ax.load_chip(GOLDEN / "chip.yaml")


def test_run_gives_tables_plots_and_files(model: str, chip: ax.Architecture, tmp_path: Path) -> None:
    workload = ax.load_model(model, batch=2)
    result = ax.run(workload, on=chip, objective="edp")
    assert isinstance(result, ax.RunResult) and isinstance(result.result, ax.Result)
    assert result.summary["provenance"]["options"]["batch"] == 2
    each = result.summary["per_sample"]
    assert (each["samples"], 2 * each["cycles"]) == (2, result.summary["cycles_total"])
    assert each["energy_j"] == result.summary["energy_j"] / 2
    told = ax.compare(ax.run(model, on=chip), result).figures
    assert told.loc["per_sample.cycles"].iloc[1] == each["cycles"]
    layers = result.layers
    assert layers["cycles_critical"].sum() == result.summary["cycles_total"]
    assert layers.attrs["units"]["energy_j"] == "J"
    assert set(result.stalls.columns) == {key for row in layers["stalls"] for key in row}
    assert result.stalls.to_numpy().sum() == sum(sum(row.values()) for row in layers["stalls"])
    assert result.energy["share"].sum() == pytest.approx(1)
    for name in ("waterfall", "timeline", "roofline", "energy", "stalls", "dram", "power"):
        getattr(result, f"plot_{name}")().savefig(tmp_path / "plot.png", dpi=40)
    assert result._repr_html_().startswith("<div class='archsim'>")
    names = [path.name for path in result.save(tmp_path / "out", trace=True)]
    assert names[0] == "summary.json" and "trace.json" in names


def test_values_and_dtypes_reach_the_run(model: str, chip: ax.Architecture) -> None:
    base = ax.run(model, on=chip)
    wider = ax.run(model, on=chip, set={"mxu.shape": [4, 8]})
    slower = ax.run(model, on=chip, dtype="bf16")
    assert wider.result.cycles_total < base.result.cycles_total < slower.result.cycles_total
    assert slower.summary["mac_breakdown"]["dtype_loss"] > 0 == base.summary["mac_breakdown"]["dtype_loss"]
    assert slower.summary["utilization_dtype"] > slower.summary["utilization"]
    assert base.summary["utilization_dtype"] == base.summary["utilization"]


def test_parameters_of_a_workload_file(chip: ax.Architecture, tmp_path: Path) -> None:
    path = tmp_path / "product.yaml"
    path.write_text(
        "schema: archsim.workload/1\nname: product\nsource: 'definition'\nparameters: {size: 4}\n"
        "layers:\n  - gemm: {name: gemm, m: size, n: size, k: size}\n"
    )
    assert ax.run(path, on=chip).summary["macs"] == 4**3
    assert ax.run(path, on=chip, parameters={"size": 8}).summary["macs"] == 8**3
    with pytest.raises(ax.ConfigError, match="siz"):
        ax.run(path, on=chip, parameters={"siz": 8})


def test_mistakes_raise_errors_of_the_tree(model: str, chip: ax.Architecture) -> None:
    with pytest.raises(ax.ConfigError, match="did you mean"):
        ax.load_chip("edge_npuu")
    with pytest.raises(ax.ConfigError, match="objective"):
        ax.run(model, on=chip, objective="speed")
    with pytest.raises(ax.ConfigError, match="loaded with batch=1"):
        ax.run(ax.load_model(model), on=chip, batch=3)
    with pytest.raises(ax.ArchsimError):
        ax.load_model("no_such_model")


def test_lists_name_what_the_loaders_know() -> None:
    assert "edge_npu" in ax.list_chips()
    assert "resnet50" in ax.list_models()
