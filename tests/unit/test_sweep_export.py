"""The table of a sweep in other formats: units, files, SQL, and what is said where a library is not there."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from archsim.base.errors import ConfigError
from archsim.lab.files.stored_results import exported, rebuilt
from archsim.lab.sweep.export import FORMATS, export
from archsim.lab.sweep.form import read
from archsim.lab.sweep.publish import latex, markdown
from archsim.lab.sweep.questions import RESULTS, SweepTable
from archsim.lab.sweep.table import table

SWEEP = read("""
name: t
chip: c
models: [a_1, b]
axes: {l1.size: [1 MiB, 3 MiB], clock: [0.8 GHz, 1 GHz], array.dataflow: [os, ws]}
constraints: ["area_mm2 <= 10"]
objectives: [latency_s, max utilization]
""")


def row(point: int, latency: float, utilization: float, model: str = "a_1", **values: Any) -> dict[str, Any]:
    at = {"l1.size": "1 MiB", "clock": "0.8 GHz", "array.dataflow": "os", **values}
    numbers = {"latency_s": latency, "utilization": utilization, "area_mm2": 5.25, "energy_breakdown_j.l1": 1e-3}
    place = {"point": point, "model": model, "fidelity": "fast", "values": at}
    return {**place, "status": "ok", "reason": "", "numbers": numbers}


@pytest.fixture
def found() -> SweepTable:
    rows = [row(0, 1.5e-3, 0.4), row(1, 2e-3, 0.5, **{"l1.size": "3 MiB"}), row(2, 9e-3, 0.1), row(0, 2e-6, 0.9, "b")]
    return SweepTable.of(table(SWEEP, rows))


UNITS = {
    "l1.size": "B", "clock": "Hz", "latency_s": "s", "utilization": "1", "area_mm2": "mm2",
    "energy_breakdown_j.l1": "J",
}  # fmt: skip


def test_units_survive_parquet(found: SweepTable, tmp_path: Path) -> None:
    assert found.attrs["units"] == UNITS
    found.to_parquet(tmp_path / RESULTS)
    again = SweepTable.load(tmp_path)
    assert again.attrs == found.attrs
    pd.testing.assert_frame_equal(pd.DataFrame(again), pd.DataFrame(found))


def test_the_front_is_published_with_one_unit_a_column(found: SweepTable) -> None:
    made = found.publication()
    assert [*made.columns] == [
        *("model", "l1.size (MiB)", "clock (MHz)", "array.dataflow"),
        *("latency (ms)", "utilization, of the best peak (%)", "area, lower bound (mm\N{SUPERSCRIPT TWO})", "fidelity"),
    ]
    assert made.to_numpy().tolist() == [
        ["a_1", "1", "800", "os", "1.5", "40", "5.25", "fast"],
        ["a_1", "3", "800", "os", "2", "50", "5.25", "fast"],
        ["b", "1", "800", "os", "0.002", "90", "5.25", "fast"],
    ]
    text = latex(found.publication())
    assert r"\begin{tabular}{lrrlrrrl}" in text and r"a\_1 & 1 &" in text and r"best peak (\%)" in text
    assert text.count(r" \\") == 4 and r"\toprule" in text
    lines = markdown(found.publication()).splitlines()
    assert lines[1] == "| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |" and len(lines) == 5


def test_files_hold_all_rows(found: SweepTable, tmp_path: Path) -> None:
    paths = [export(found, found.pareto(), tmp_path, name) for name in FORMATS]
    assert [path.name for path in paths] == ["results.csv", "results.xlsx", "front.tex", "front.md"]
    csv = pd.read_csv(paths[0])
    pd.testing.assert_frame_equal(csv[["point", "latency_s"]], pd.DataFrame(found)[["point", "latency_s"]])
    sheets = pd.read_excel(paths[1], sheet_name=None)
    assert [*sheets] == ["results", "front", "units"]
    assert sheets["results"]["latency_s"].tolist() == found["latency_s"].tolist()
    assert dict(sheets["units"].itertuples(index=False, name=None)) == UNITS
    assert len(sheets["front"]) == 3
    assert paths[2].read_text(encoding="utf-8") == latex(found.publication())


def test_sql_asks_the_results_and_pandas_stays_itself(found: SweepTable) -> None:
    asked = found.query("SELECT model, min(latency_s) AS best FROM results GROUP BY model ORDER BY model")
    assert asked.to_numpy().tolist() == [["a_1", 1.5e-3], ["b", 2e-6]]
    assert found.query("with x as (select * from results) select count(*) as n from x")["n"].tolist() == [4]
    assert found.query("point == 1")["latency_s"].tolist() == [2e-3]
    with pytest.raises(ConfigError, match="latenc_s"):
        found.query("select latenc_s from results")


@pytest.mark.parametrize("library", ["duckdb", "openpyxl"])
def test_what_is_not_installed_is_named_with_its_extra(
    found: SweepTable, library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(name: str, *arguments: Any) -> Any:
        if name == library:
            raise ImportError(name)
        return kept(name, *arguments)

    kept = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ConfigError, match=rf"needs {library}: pip install 'archsim\[studies\]'"):
        found.query("select 1") if library == "duckdb" else export(found, found.pareto(), tmp_path, "xlsx")


def test_exports_of_a_folder(found: SweepTable, tmp_path: Path) -> None:
    found.to_parquet(tmp_path / RESULTS)
    assert [path.name for path in rebuilt(tmp_path)] == ["report.html", "report.md"]
    assert [path.name for path in exported(tmp_path, "md, csv,md")] == ["front.md", "results.csv"]
    with pytest.raises(ConfigError, match="found 'cvs' .did you mean 'csv'.*allowed csv, xlsx, tex, md, pdf"):
        exported(tmp_path, "cvs")
    with pytest.raises(ConfigError, match="found 'csv'; allowed pdf; the other formats are of runs and sweeps"):
        exported(tmp_path / "none", "csv")


def test_an_export_that_cannot_be_written(found: SweepTable, tmp_path: Path) -> None:
    (tmp_path / "front.md").mkdir()
    with pytest.raises(ConfigError, match="front.md: cannot be written"):
        export(found, found.pareto(), tmp_path, "md")
