"""A census of the ranking from its JSON form: tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from archsim.report.kit.number_format import NONE, count
from archsim.report.kit.table import TERMINAL, ReportTable, TableColumn
from archsim.report.kit.table_terminal import text

CensusSummary = Mapping[str, Any]  # archsim.census/1


def to_table(told: CensusSummary, width: int | None = None) -> str:
    """What was found, in tables of ``width`` columns at most."""
    lines = [f"{count(told['cases'])} cases: models on chips, as they are and larger, by every objective."]
    for table in (_objectives(told), _larger(told), _errors(told)):
        lines += text(table, width)
    return "\n".join([*lines, *_sentences(told)])


def _objectives(told: CensusSummary) -> ReportTable:
    rows = [
        (row["objective"], row["cases"], row["beaten"], _percent(row["worst_percent"]), row["worst"],
         row["beaten_with_net"])
        for row in told["objectives"]
    ]  # fmt: skip
    columns = (
        TableColumn("objective", "name"),
        TableColumn("cases", show=count),
        TableColumn("beaten by another", show=count),
        TableColumn("worst", "text"),
        TableColumn("where", "text", rank=1),
        TableColumn("beaten with the net", show=count),
    )
    return ReportTable(
        "Objectives that another one's mappings beat in their own figure", columns, rows, media=(TERMINAL,)
    )


def _larger(told: CensusSummary) -> ReportTable:
    rows = [
        (row["change"], row["pairs"], f"{row['allowed_percent']:g} %", len(row["slower"]),
         _percent(max((one["percent"] for one in row["slower"]), default=0.0)))
        for row in told["larger"]
    ]  # fmt: skip
    columns = (
        TableColumn("larger", "name"),
        TableColumn("pairs", show=count),
        TableColumn("by more than", "text"),
        TableColumn("slower", show=count),
        TableColumn("worst", "text"),
    )
    return ReportTable("Larger chips that are slower, by latency", columns, rows, media=(TERMINAL,))


def _errors(told: CensusSummary) -> ReportTable:
    rows = []
    for row in told["errors"]:
        for name, label in (
            ("alone", "layers alone"),
            ("in_network", "layers in their network"),
            ("network", "networks"),
        ):
            found = row[name]
            if found["count"]:
                shown = [_percent(found[f"{key}_percent"]) for key in ("median", "p95", "worst")]
                rows.append(
                    (f"{label}, {row['cores']} core{'s' if row['cores'] == 'many' else ''}", found["count"], *shown)
                )
    columns = (
        TableColumn("simulated against expected", "name"),
        TableColumn("number", show=count),
        TableColumn("median", "text"),
        TableColumn("p95", "text"),
        TableColumn("worst", "text"),
    )
    below = ["Layers of 10,000 cycles or more; smaller ones move by more with the refreshes alone."]
    return ReportTable("How far the forecasts are off", columns, rows, below=below, media=(TERMINAL,))


def _sentences(told: CensusSummary) -> Iterator[str]:
    layers = told["layers"]
    yield (
        f"Of {count(layers['cases'])} networks {count(layers['slower'])} are slower than their layers one by one "
        f"(at most {_percent(layers['worst_percent'])}{', ' + layers['worst'] if layers['worst'] else ''}); "
        f"{count(layers['in_turn'])} were run in turn."
    )
    for row in told["larger"]:
        for one in row["slower"]:
            yield f"Slower though larger ({row['change']}): {one['case']}, {_percent(one['percent'])}."
    for point in told["points"]:
        if point["reason"]:
            yield f"Not run: {point['model']} on {point['chip']}, {point['change']}: {point['reason']}"


def _percent(value: float) -> str:
    return f"{value:+.1f} %" if value == value else NONE
