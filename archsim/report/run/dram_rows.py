"""DRAM over time as a sentence and as a short table, for the DRAM parts that have rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.kit.number_format import count, percent, si
from archsim.report.kit.table import MARKDOWN, ReportTable, TableColumn

BUSY = 0.8  # of the peak: windows above it are called busy
ROWS = 10  # of the table

DramSummary = Mapping[str, Any]


def parts_with_rows(summary: Mapping[str, Any]) -> dict[str, DramSummary]:
    """The entries of ``details.dram`` with accesses to rows and a series of windows."""
    parts = summary["details"].get("dram", {})
    return {name: part for name, part in parts.items() if part["windows"] and _bursts(part)}


def sentence(name: str, part: DramSummary) -> str:
    """How busy the pins were, and when; how the rows were hit over the run and in its worst window."""
    windows, peak = part["windows"], part["peak_bytes_per_s"]
    rates = [size / windows["seconds"] for size in map(sum, zip(*_moved(windows), strict=True))]
    most, at = max((rate, -index) for index, rate in enumerate(rates))
    busy = sum(rate > BUSY * peak for rate in rates)
    worst = min(rate for rate in windows["row_hit_rate"] if rate is not None)
    return (
        f"{name} is above {percent(BUSY, digits=0)} of its peak in {percent(busy, len(rates))} of the time; its "
        f"busiest window, at {si(-at * windows['seconds'], 's', 3)}, reaches {percent(most, peak)}. "
        f"{percent(part['row_hits'], _bursts(part))} of the bursts hit an open row, {percent(worst)} in the worst "
        f"window; {percent(part['row_conflicts'], _bursts(part))} meet another row."
    )


def dram_table(name: str, part: DramSummary) -> ReportTable:
    """What the part did in at most ten equal spans of the run; pages draw it instead."""
    windows = part["windows"]
    length = len(windows["row_hits"])
    spans = min(ROWS, length)
    edges = [index * length // spans for index in range(spans + 1)]
    rate = partial(si, unit="B/s", digits=3)
    columns = (
        TableColumn("from", show=lambda seconds: si(seconds, "s", 3) if seconds else "0"),
        TableColumn("read", show=rate),
        TableColumn("written", show=rate),
        TableColumn("row hits", show=percent),
        TableColumn("conflicts", show=count),
    )
    rows = [_row(windows, first, last) for first, last in zip(edges, edges[1:], strict=False)]
    return ReportTable(name, columns, rows, sentence(name, part), media=(MARKDOWN,))


def _row(windows: Mapping[str, Any], first: int, last: int) -> tuple[float | None, ...]:
    """When a span begins in seconds, bytes per second read and written, share of row hits, row conflicts."""
    sums = {name: sum(windows[name][first:last]) for name in windows if name not in ("seconds", "row_hit_rate")}
    seconds = (last - first) * windows["seconds"]
    bursts = _bursts(sums)
    return (
        first * windows["seconds"],
        sums["read_bytes"] / seconds,
        sums["write_bytes"] / seconds,
        sums["row_hits"] / bursts if bursts else None,
        sums["row_conflicts"],
    )


def _moved(windows: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    return windows["read_bytes"], windows["write_bytes"]


def _bursts(part: DramSummary) -> int:
    return int(part["row_hits"] + part["row_misses"] + part["row_conflicts"])
