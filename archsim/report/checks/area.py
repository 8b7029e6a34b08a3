"""The suite area as tables: scores, dies beside their predictions, blocks of published floorplans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.report.kit import table_terminal
from archsim.report.kit.number_format import NONE, count
from archsim.report.kit.table import ReportTable, TableColumn

SCORES: Mapping[str, str] = {
    "shipped": "constants of this package",
    "leave_one_out": "each die left out of the fit of its class",
    "without_fill": "parts alone, without fill",
    "today": "formulas before structures",
}
MM2 = "mm\N{SUPERSCRIPT TWO}"

StoredArea = Mapping[str, Any]  # suite, a score for each name, rows, floorplans: what the suite leaves


def _factor(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _mm2(value: float) -> str:
    return f"{value:,.4g}"


def scores(found: StoredArea) -> ReportTable:
    """Factors by which predictions are off, up or down."""
    columns = (
        TableColumn("predicted by", "prose"),
        TableColumn("dies", show=count),
        TableColumn("mean factor", show=_factor),
        TableColumn("worst", show=_factor),
    )
    rows = [
        (said, *(found[name][key] for key in ("cases", "factor_gm", "factor_worst"))) for name, said in SCORES.items()
    ]
    note = "Of dies whose area was published; mean factor: geometric, up or down."
    return ReportTable("Predicted against published areas", columns, rows, note)


def dies(found: StoredArea) -> ReportTable:
    """Every die, the furthest off first."""
    columns = (
        TableColumn("die", "name"),
        TableColumn("class", "word", rank=1),
        TableColumn("area known", "word", rank=2),
        TableColumn("published", unit=MM2, show=_mm2),
        TableColumn("predicted", unit=MM2, show=_mm2),
        TableColumn("published / predicted", show=_factor),
    )
    rows = [
        (*(row[key] for key in ("case", "class", "status", "published", "predicted")), _ratio(row))
        for row in found["rows"]
    ]
    note = "Areas that are recalled or derived are not scored."
    return ReportTable("Dies", columns, _furthest_first(rows), note)


def floorplans(found: StoredArea) -> ReportTable:
    """Blocks of published floorplans of the package's chips."""
    columns = (
        TableColumn("chip", "name"),
        TableColumn("block", "name"),
        TableColumn("published", unit=MM2, show=_mm2),
        TableColumn("predicted", unit=MM2, show=_mm2),
        TableColumn("published / predicted", show=_factor),
    )
    rows = [
        (*(row[key] for key in ("chip", "block", "published", "predicted")), _ratio(row)) for row in found["floorplans"]
    ]
    return ReportTable("Chips and blocks of their floorplans", columns, rows)


def parts(found: StoredArea) -> ReportTable:
    """What each die is made of."""
    columns = (TableColumn("die", "name"), TableColumn("part", "name"), TableColumn("predicted", unit=MM2, show=_mm2))
    rows = [
        (row["case"], name, mm2)
        for row in found["rows"]
        for name, mm2 in sorted(row["parts"].items(), key=lambda item: (-item[1], item[0]))
    ]
    return ReportTable("Parts of the dies", columns, rows)


def to_table(found: StoredArea, width: int | None) -> str:
    """Scores, dies and blocks for a terminal."""
    tables = (scores(found), dies(found), floorplans(found))
    return "\n".join(line for made in tables for line in table_terminal.text(made, width))


def _ratio(row: Mapping[str, Any]) -> float:
    return float(row["published"] / row["predicted"])


def _furthest_first(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: (-max(row[-1], 1 / row[-1]), row[0]))
