"""What a mapping is expected to take beside what the machine takes, from its JSON form: a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.report.kit.number_format import NONE, count
from archsim.report.kit.table import TERMINAL, ReportTable, TableColumn
from archsim.report.kit.table_terminal import text

GapSummary = Mapping[str, Any]  # archsim.gap/1
MOST_ROWS = 20


def to_table(told: GapSummary, width: int | None = None) -> str:
    """The layers that are furthest off, and the network; tables of ``width`` columns at most."""
    total, expected, alone = told["cycles_total"], told["expected_cycles"], told["alone_cycles"]
    late = [row["layer"] for row in told["layers"] if row["late"]]
    lines = [
        f"{told['model']} on {told['chip']}, by {told['objective']}: expected {count(expected)} cycles, simulated "
        f"{count(total)} ({_change(total, expected)}); its layers one by one {count(alone)}",
        *text(_layers(told), width),
    ]
    if late:
        lines.append(f"More than 1.2 times as long in the network as alone: {', '.join(late)}.")
    return "\n".join(lines)


def _layers(told: GapSummary) -> ReportTable:
    rows = [
        (
            row["layer"],
            row["unit"],
            row["expected_alone_cycles"],
            row["alone_cycles"],
            _change(row["alone_cycles"], row["expected_alone_cycles"]),
            row["expected_cycles"],
            row["critical_cycles"],
            row["bounded_by"],
            max(row["spent"], key=lambda cause: row["spent"][cause], default=NONE),
        )
        for row in told["layers"][:MOST_ROWS]
    ]
    columns = (
        TableColumn("layer", "name"),
        TableColumn("unit", "text", rank=3),
        TableColumn("expected alone", unit="cycles", show=count),
        TableColumn("alone", unit="cycles", show=count),
        TableColumn("change", "text"),
        TableColumn("expected in the network", unit="cycles", show=count, rank=2),
        TableColumn("in the network", unit="cycles", show=count, rank=1),
        TableColumn("expected bound", "text", rank=2),
        TableColumn("most time in", "text", rank=2),
    )
    left = len(told["layers"]) - len(rows)
    below = [f"{count(left)} more layers are nearer; --format json has all."] if left > 0 else []
    title = "Layers, those furthest from what was expected of them alone first"
    return ReportTable(title, columns, rows, below=below, media=(TERMINAL,))


def _change(now: float, before: float) -> str:
    return f"{100 * (now / before - 1):+.1f} %" if before else NONE
