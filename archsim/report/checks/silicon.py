"""The suite silicon as tables: a row for each set, the worst rows with what bounds them, rows without a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.report.kit import table_terminal
from archsim.report.kit.causes import bound_label
from archsim.report.kit.number_format import NONE, count
from archsim.report.kit.table import ReportTable, TableColumn

WORST = 10  # rows that are told apart
MOST_COMMANDS = 1 << 19  # of a row of which it is asked what bounds it; one of so many takes some minutes
FIGURES = ("mape_pct", "median_pct", "p90_pct", "max_pct", "bias_pct", "roofline_pct", "fitted_roofline_pct")
_HEADS = ("mean error", "median", "90 % below", "worst", "bias", "roofline", "fitted roofline")

StoredSilicon = Mapping[str, Any]  # suite, calibrate, sets, rows: what the suite leaves


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:.1f}"


def scored(found: StoredSilicon) -> list[Mapping[str, Any]]:
    """The rows that were run."""
    return [row for row in found["rows"] if not row["not_run"]]


def sets(found: StoredSilicon) -> ReportTable:
    """Figures of each set, in percent, beside those of rooflines."""
    rows = [
        (name, one["chip"], f"{count(one['rows'])} of {count(one['rows_of_set'])}", *(one[key] for key in FIGURES))
        for name, one in found["sets"].items()
    ]
    columns = [TableColumn("set", "name"), TableColumn("chip", "name", rank=1), TableColumn("rows")]
    columns += [
        TableColumn(head, unit="%", show=_percent, rank=1 + (head in ("median", "90 % below"))) for head in _HEADS
    ]
    note = (
        "Drawn are all rows that were run; along MACs of a byte those that have MACs. Dots more than ten times off "
        "stand at the edge."
    )
    return ReportTable("Predicted against measured times", columns, rows, note)


def furthest(found: StoredSilicon, most: int = WORST) -> list[Mapping[str, Any]]:
    """The rows that are furthest off, the worst first."""
    return sorted(scored(found), key=lambda row: (-abs(row["error_pct"]), row["set"], row["case"]))[:most]


def worst(found: StoredSilicon) -> ReportTable:
    """The rows that are furthest off; a column says what bounds them, where that was asked."""
    chosen, note = furthest(found), ""
    columns = [
        TableColumn("set", "name"),
        TableColumn("case", "name"),
        TableColumn("measured", unit="µs", show=lambda value: f"{value:,.2f}"),
        TableColumn("predicted", unit="µs", show=lambda value: f"{value:,.2f}"),
        TableColumn("error", unit="%", show=lambda value: f"{value:+.1f}"),
    ]
    rows = [[row["set"], row["case"], row["time_us"], row["predicted_us"], row["error_pct"]] for row in chosen]
    if any(row["bound_by"] for row in chosen):
        columns.append(TableColumn("bound by", "word"))
        rows = [[*cells, _cause(row["bound_by"])] for cells, row in zip(rows, chosen, strict=True)]
        note = f"What bounds a row is not looked for where its run has more than {MOST_COMMANDS:,} commands."
    return ReportTable("The worst rows", columns, rows, note)


def not_run(found: StoredSilicon) -> ReportTable:
    """Why sets and rows have no prediction."""
    rows = [
        (name, number, reason)
        for name, one in found["sets"].items()
        for reason, number in one.get("not_run", {}).items()
    ]
    columns = (TableColumn("set", "name"), TableColumn("rows", show=count), TableColumn("why", "prose"))
    return ReportTable("Rows without a prediction", columns, rows)


def _cause(key: str) -> str:
    return bound_label(key) if key else NONE


def to_table(found: StoredSilicon, width: int | None) -> str:
    """Both tables, and why sets and rows have no prediction."""
    lines = [line for made in (sets(found), worst(found)) if made.rows for line in table_terminal.text(made, width)]
    lines += [f"{name}: {number} rows not run: {reason}" for name, number, reason in not_run(found).rows]
    return "\n".join(lines)
