"""The suite silicon as tables: a row for each set, the worst rows, and what could not be run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from archsim.report.kit import table_terminal
from archsim.report.kit.number_format import count
from archsim.report.kit.table import ReportTable, TableColumn

WORST = 10
FIGURES = ("mape_pct", "median_pct", "p90_pct", "max_pct", "bias_pct", "roofline_pct", "fitted_roofline_pct")
_HEADS = ("mean error", "median", "90 % below", "worst", "bias", "roofline", "fitted roofline")


class SiliconOutcome(Protocol):
    """What the suite returns."""

    def to_json(self) -> dict[str, Any]:
        """Figures by set."""

    def rows(self) -> Iterable[Mapping[str, Any]]:
        """Every row: set, case, time_us, predicted_us, error_pct, command, not_run."""


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def sets(outcome: SiliconOutcome) -> ReportTable:
    """Figures of each set, in percent, beside those of rooflines."""
    found: Mapping[str, Mapping[str, Any]] = outcome.to_json()["sets"]
    rows = [
        (name, one["chip"], f"{count(one['rows'])} of {count(one['rows_of_set'])}", *(one[key] for key in FIGURES))
        for name, one in found.items()
    ]
    columns = [TableColumn("set", "name"), TableColumn("chip", "name", rank=1), TableColumn("rows")]
    columns += [
        TableColumn(head, unit="%", show=_percent, rank=1 + (head in ("median", "90 % below"))) for head in _HEADS
    ]
    return ReportTable("Predicted against measured times", columns, rows)


def worst(outcome: SiliconOutcome) -> ReportTable:
    """The rows that are furthest off."""
    scored = [row for row in outcome.rows() if not row["not_run"]]
    scored.sort(key=lambda row: (-abs(row["error_pct"]), row["set"], row["case"]))
    rows = [(row["set"], row["case"], row["time_us"], row["predicted_us"], row["error_pct"]) for row in scored[:WORST]]
    columns = (
        TableColumn("set", "name"),
        TableColumn("case", "name"),
        TableColumn("measured", unit="µs", show=lambda value: f"{value:,.2f}"),
        TableColumn("predicted", unit="µs", show=lambda value: f"{value:,.2f}"),
        TableColumn("error", unit="%", show=lambda value: f"{value:+.1f}"),
    )
    return ReportTable("The worst rows", columns, rows)


def to_table(outcome: SiliconOutcome, width: int | None) -> str:
    """Both tables, and why sets and rows could not be run."""
    lines = [line for made in (sets(outcome), worst(outcome)) if made.rows for line in table_terminal.text(made, width)]
    for name, one in outcome.to_json()["sets"].items():
        lines += [f"{name}: {number} rows not run: {reason}" for reason, number in one.get("not_run", {}).items()]
    return "\n".join(lines)
