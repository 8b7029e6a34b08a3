"""The tables of a memory that replayed a trace alone, each laid out once: latency, commands, energy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.kit.number_format import count, percent, si
from archsim.report.kit.table import MARKDOWN, PAGES, TERMINAL, BarCell, ReportTable, TableColumn

Found = Mapping[str, Any]


def tables(found: Found) -> dict[str, ReportTable]:
    """The tables of a result of ``archsim dram`` by name; those without rows are left out."""
    made = {
        "latency": latency(found),
        "histogram": histogram(found),
        "commands": commands(found),
        "energy": energy(found),
    }
    return {name: table for name, table in made.items() if table}


def latency(found: Found) -> ReportTable:
    """Mean, percentiles and extremes of the latency of reads; no rows where nothing was read."""
    taken, arrival = found["read_latency"], found.get("read_latency_from_arrival")
    names: dict[str, str] = {}
    if taken:
        names = {"mean_ns": "mean", **{key: key.removesuffix("_ns") for key in taken if key[:1] == "p"}}
        names |= {"least_ns": "least", "most_ns": "most"}
    nanoseconds = partial(TableColumn, unit="ns", show=lambda value: f"{value:.1f}")
    columns = (TableColumn("read latency", "word"), nanoseconds("from acceptance"), nanoseconds("from arrival"))
    rows = [(name, taken[key], arrival[key] if arrival else None) for key, name in names.items()]
    note = (
        "The latency of a read ends with its last beat. It is counted from when a queue takes it, and beside that from "
        "the cycle that the trace states."
    )
    return ReportTable("Latency", columns, rows, note)


def histogram(found: Found) -> ReportTable:
    """How many reads took how long; pages draw it."""
    bins = found["read_latency"]["histogram"] if found["read_latency"] else []
    most = max((row["reads"] for row in bins), default=1)
    nanoseconds = partial(TableColumn, unit="ns", show=lambda value: f"{value:.0f}")
    columns = (nanoseconds("from"), nanoseconds("to"), TableColumn("", "bar"), TableColumn("reads", show=count))
    rows = [(row["from_ns"], row["to_ns"], BarCell(0, row["reads"] / most), row["reads"]) for row in bins]
    return ReportTable("Reads by latency from acceptance", columns, rows, media=(TERMINAL, MARKDOWN))


def commands(found: Found) -> ReportTable:
    """How many commands of each kind the controller issued; the terminal says it in a sentence."""
    columns = (TableColumn("command", "word"), TableColumn("count", show=count))
    return ReportTable("Commands", columns, [*found["commands"].items()], media=PAGES)


def energy(found: Found) -> ReportTable:
    """Energy by cause with where each figure comes from; the terminal says the energy in a sentence."""
    whole = found["energy_j"]["total"]
    causes = {name: joules for name, joules in found["energy_j"].items() if name != "total"}
    columns = (
        TableColumn("cause", "word"),
        TableColumn("energy", show=partial(si, unit="J")),
        TableColumn("share", show=lambda joules: percent(joules, whole)),
        TableColumn("source", "prose"),
    )
    rows = [(name, joules, joules, found["sources"][name]) for name, joules in causes.items()]
    return ReportTable("Energy", columns, rows, total=("all", whole, whole, ""), media=PAGES)
