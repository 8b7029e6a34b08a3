"""The tables of a run in other formats: sums, units, text that is no formula, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fixtures_result import make_result

from archsim.base.errors import ConfigError
from archsim.lab.files.stored_results import exported, rebuilt
from archsim.lab.kit import tabular
from archsim.lab.run import export as run_tables
from archsim.lab.run.export import FORMATS, export
from archsim.report.run.run_files import write
from archsim.report.run.summary import summarise
from archsim.report.run.tables import layers_csv

FORMULA = "=HYPERLINK(1)"
TABLES = ["figures", "causes", "layer_causes", "energy", "layers"]


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    return summarise(make_result(6))


@pytest.fixture
def folder(summary: dict[str, Any], tmp_path: Path) -> Path:
    write(tmp_path, summary)
    return tmp_path


def test_tables_hold_all_of_the_run_and_sum_to_it(summary: dict[str, Any]) -> None:
    tables = run_tables.raw(summary)
    assert [*tables] == TABLES
    assert tables["causes"]["slots"].sum() == sum(summary["mac_breakdown"].values())
    assert tables["causes"]["cycles"].sum() == pytest.approx(summary["cycles_total"])
    assert tables["energy"]["energy_j"].sum() == pytest.approx(summary["energy_j"])
    by_layer = tables["layer_causes"]
    critical = by_layer[by_layer["split"] == run_tables.CRITICAL]
    stored = summary["details"]["critical"]
    assert critical["cycles"].sum() == sum(cycles for causes in stored.values() for cycles in causes.values()) > 0
    waits = by_layer[by_layer["split"] == run_tables.WAITED]
    assert waits["cycles"].sum() == sum(sum(layer["stalls"].values()) for layer in summary["layers"]) > 0
    assert tables["layers"]["name"].tolist() == [layer["name"] for layer in summary["layers"]]


def test_units_and_headline_stand_in_attrs_and_survive_parquet(summary: dict[str, Any], folder: Path) -> None:
    paths = export(folder, "parquet")
    assert [path.name for path in paths] == [f"{name}.parquet" for name in TABLES]
    layers = pd.read_parquet(folder / "layers.parquet")
    assert layers.attrs["run"] == "toy60 on edge_toy"
    assert layers.attrs["figures"]["latency_s"] == summary["latency_s"]
    assert layers.attrs["figure_units"]["latency_s"] == "s" and layers.attrs["figure_units"]["utilization"] == "1"
    assert layers.attrs["units"]["energy_j"] == "J" and layers.attrs["units"]["cycles_critical"] == "cycles"
    assert layers["macs"].tolist() == [layer["macs"] for layer in summary["layers"]]
    energy = pd.read_parquet(folder / "energy.parquet")
    assert energy.attrs["units"] == {"energy_j": "J", "share": "1", "area_mm2": "mm2"}
    figures = pd.read_parquet(folder / "figures.parquet").set_index("key")["figure"]
    assert figures["cycles_total"] == summary["cycles_total"]


def test_csv_of_layers_is_what_the_run_wrote(summary: dict[str, Any], folder: Path) -> None:
    assert [path.name for path in export(folder, "csv")] == [f"{name}.csv" for name in TABLES]
    written = pd.read_csv(folder / "layers.csv")
    before = folder / "before.csv"
    before.write_text(layers_csv(summary), encoding="utf-8")
    pd.testing.assert_frame_equal(written, pd.read_csv(before))


def test_excel_has_a_sheet_for_each_table_and_units(summary: dict[str, Any], folder: Path) -> None:
    (path,) = export(folder, "xlsx")
    sheets = pd.read_excel(path, sheet_name=None)
    assert [*sheets] == [*TABLES, "units"] and path.name == "tables.xlsx"
    assert sheets["layers"]["energy_j"].tolist() == pytest.approx([layer["energy_j"] for layer in summary["layers"]])
    units = sheets["units"].set_index(["table", "column"])["unit"]
    assert units["energy", "energy_j"] == "J" and units["layers", "cycles_total"] == "cycles"


def test_published_tables_have_one_unit_a_column(folder: Path) -> None:
    (tex,), (md,) = export(folder, "tex"), export(folder, "md")
    text = tex.read_text(encoding="utf-8")
    assert (tex.name, md.name) == ("tables.tex", "tables.md")
    assert text.count(r"\begin{tabular}") == 3 and text.count(r"\begin{longtable}") == 1
    assert r"share (\%)" in text and r"\toprule" in text and "on the chip_" not in text
    blocks = md.read_text(encoding="utf-8").split("## ")[1:]
    assert [block.split("\n")[0] for block in blocks] == ["figures", "causes", "energy", "layers"]
    assert "| part | energy (" in blocks[2] and "| share (%) |" in blocks[1]
    assert blocks[3].count("\n| layer") == 7  # head and rule aside: a row a layer, here with their names first


def test_text_of_the_file_is_data_in_every_format(summary: dict[str, Any], tmp_path: Path) -> None:
    named = json.loads(json.dumps(summary).replace("layer00", f"{FORMULA}\\u001b[31m_&%").replace("mxu", "@mxu"))
    write(tmp_path, named)
    for name in FORMATS:
        export(tmp_path, name)
    for file in ("layers.csv", "layer_causes.csv", "tables.md", "tables.tex"):
        assert "\x1b" not in (tmp_path / file).read_text(encoding="utf-8")
    assert pd.read_csv(tmp_path / "layers.csv")["name"][0].startswith(f"'{FORMULA}")
    sheets = pd.read_excel(tmp_path / "tables.xlsx", sheet_name=None)
    assert sheets["layers"]["name"][0].startswith(f"'{FORMULA}")
    assert not any(str(text).startswith(("=", "@")) for rows in sheets.values() for text in rows.to_numpy().flat)
    assert r"\_\&\%" in (tmp_path / "tables.tex").read_text(encoding="utf-8")


def test_formats_of_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [path.name for path in rebuilt(folder)] == ["report.html", "report.md"]
    assert [path.name for path in exported(folder, "md, tex,md")] == ["tables.md", "tables.tex"]
    assert [path.name for path in exported(folder, "parquet")][-1] == "layers.parquet"
    assert [path.name for path in rebuilt(folder)] == ["report.html", "report.md"]  # still a run's folder
    with pytest.raises(
        ConfigError, match="found 'xslx' .did you mean 'xlsx'.*allowed csv, xlsx, tex, md, parquet, pdf"
    ):
        exported(folder, "xslx")

    def missing(name: str, *arguments: Any) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(tabular.importlib, "import_module", missing)
    with pytest.raises(ConfigError, match=r"xlsx needs openpyxl: pip install 'archsim\[studies\]'"):
        exported(folder, "xlsx")


def test_a_run_without_details_and_mac_slots(summary: dict[str, Any]) -> None:
    bare = {**summary, "layers": [], "energy_breakdown_j": {}, "mac_breakdown": {}, "details": {}}
    assert all(len(rows) == 0 for name, rows in run_tables.raw(bare).items() if name != "figures")
    assert [*run_tables.published(bare)] == ["figures", "causes", "energy", "layers"]
