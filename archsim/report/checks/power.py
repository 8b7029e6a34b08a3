"""The suite power as tables: scores by state, points beside their predictions with what draws them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.report.kit import table_terminal
from archsim.report.kit.number_format import NONE, count
from archsim.report.kit.table import ReportTable, TableColumn

SCORES: Mapping[str, str] = {
    "shipped": "constants of this package",
    "leave_one_out": "each die left out of the fit",
    "today": "formulas before states",
}
PARTS = ("idle", "waiting", "MACs", "DRAM")

StoredPower = Mapping[str, Any]  # suite, a score for each name with idle and busy inside, rows: what the suite leaves


def _factor(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _watts(value: float | None) -> str:
    return NONE if value is None else f"{value:,.4g}"


def scores(found: StoredPower) -> ReportTable:
    """Factors by which predictions are off, up or down, idle and busy."""
    columns = (
        TableColumn("predicted by", "prose"),
        TableColumn("state", "word"),
        TableColumn("points", show=count),
        TableColumn("mean factor", show=_factor),
        TableColumn("worst", show=_factor),
    )
    rows = [
        (said, state, *(found[name][state][key] for key in ("cases", "factor_gm", "factor_worst")))
        for name, said in SCORES.items()
        for state in ("idle", "busy")
    ]
    return ReportTable("Predicted against published power", columns, rows, "Mean factor: geometric, up or down.")


def points(found: StoredPower) -> ReportTable:
    """Every point, the furthest off first, with the watts of what draws them."""
    columns = [
        TableColumn("point", "name"),
        TableColumn("idle class", "word", rank=2),
        TableColumn("published", unit="W", show=_watts),
        TableColumn("predicted", unit="W", show=_watts),
        TableColumn("published / predicted", show=_factor),
        *(TableColumn(part, unit="W", show=_watts, rank=1) for part in PARTS),
    ]
    rows = [
        (
            row["case"],
            row["idle_class"],
            row["published"],
            row["predicted"],
            row["published"] / row["predicted"],
            *(row["parts"].get(part) for part in PARTS),
        )
        for row in found["rows"]
    ]
    return ReportTable("Operating points", columns, sorted(rows, key=lambda row: (-max(row[4], 1 / row[4]), row[0])))


def to_table(found: StoredPower, width: int | None) -> str:
    """Scores and points for a terminal."""
    return "\n".join(line for made in (scores(found), points(found)) for line in table_terminal.text(made, width))
