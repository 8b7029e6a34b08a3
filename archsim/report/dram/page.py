"""report.html, report.md and the tables of a memory that replayed a trace alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.charts.histogram import histogram
from archsim.report.charts.parts import parts
from archsim.report.dram import layouts, terminal
from archsim.report.kit.part_page import PageSection, ResultKind, ResultPage, csv_text
from archsim.report.kit.svg import both

LATENCY, COMMANDS = "latency.csv", "commands.csv"
_ENERGY = "#0072B2"

Found = Mapping[str, Any]


def _page(found: Found) -> ResultPage:
    """The page of a result of ``archsim dram``."""
    made = layouts.tables(found)
    sections = [PageSection(table, _charts(name, found)) for name, table in made.items()]
    tables = {COMMANDS: csv_text(("command", "count"), [*found["commands"].items()])}
    if found["read_latency"]:
        rows = [[*row.values()] for row in found["read_latency"]["histogram"]]
        tables |= {LATENCY: csv_text(("from_ns", "to_ns", "reads"), rows)}
    memory = found["memory"]
    title = f"{found['trace']} on {memory['standard']}-{memory['speed_mts']}"
    setting = (terminal.setting(found), f"timings: {memory['source']}")
    return ResultPage(title, setting, tuple(terminal.says(found)), tuple(sections), tables)


KIND = ResultKind("dram.json", terminal.SCHEMA, _page)


def _charts(name: str, found: Found) -> tuple[str, ...]:
    """The drawing beside a table, where it has one."""
    if name == "latency":
        bins = found["read_latency"]["histogram"]
        bars = [(f"{row['from_ns']:.0f} to {row['to_ns']:.0f} ns", row["reads"]) for row in bins]
        return (both(partial(histogram, bars, "Reads by latency")),)
    if name == "energy":
        causes = {cause: joules for cause, joules in found["energy_j"].items() if cause != "total"}
        return (both(partial(parts, causes, "J", _ENERGY, "Energy by cause")),)
    return ()
