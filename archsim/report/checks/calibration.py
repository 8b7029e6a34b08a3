"""What was fitted to measured rows, as JSON and as a table: keys before and after, and the errors with each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.report.kit import table_terminal
from archsim.report.kit.table import ReportTable, TableColumn


def to_json(found: Any) -> dict[str, Any]:
    """``keys: {KEY: {before, after}}``, each as a chip file states it, and mean errors in percent of the rows that were
    fitted and of the others (null where there are none)."""
    keys = {
        str(key): {"before": key.text(found.before[key]), "after": key.text(found.after[key])} for key in found.after
    }
    (fitted_before, others_before), (fitted_after, others_after) = found.errors
    return {
        "schema": "archsim.calibration/1",
        "chip": found.chip,
        "platform": found.platform,
        "set": found.set,
        "rows": found.rows[0],
        "rows_fitted": found.rows[1],
        "keys": keys,
        "mape_pct": {
            "fitted": {"before": fitted_before, "after": fitted_after},
            "others": {"before": others_before, "after": others_after},
        },
    }


def to_table(told: Mapping[str, Any], width: int | None) -> str:
    """The keys and the errors."""
    columns = (TableColumn("key", "name"), TableColumn("before", "name"), TableColumn("after", "name"))
    keys = [(key, one["before"], one["after"]) for key, one in told["keys"].items()]
    errors = [(f"rows {half}", *map(_percent, one.values())) for half, one in told["mape_pct"].items()]
    title = f"{told['platform']} of {told['chip']}, by {told['rows']} rows of {told['set']}"
    heads = (TableColumn("mean error, %", "name"), *columns[1:])
    tables = (ReportTable(title, columns, keys), ReportTable("Errors", heads, errors))
    return "\n".join(line for table in tables for line in table_terminal.text(table, width))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
