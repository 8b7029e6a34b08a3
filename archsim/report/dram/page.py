"""report.html, report.md and the tables of a memory that replayed a trace alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.charts.histogram import histogram
from archsim.report.charts.parts import parts
from archsim.report.dram import terminal
from archsim.report.kit.number_format import count, percent, si
from archsim.report.kit.part_page import PageSection, ResultKind, ResultPage, csv_text
from archsim.report.kit.svg import both

LATENCY, COMMANDS = "latency.csv", "commands.csv"
_ENERGY = "#0072B2"

Found = Mapping[str, Any]


def _page(found: Found) -> ResultPage:
    """The page of a result of ``archsim dram``."""
    sections = [_latency(found)] if found["read_latency"] else []
    sections += [_commands(found), _energy(found)]
    tables = {COMMANDS: csv_text(("command", "count"), [*found["commands"].items()])}
    if found["read_latency"]:
        rows = [[*row.values()] for row in found["read_latency"]["histogram"]]
        tables |= {LATENCY: csv_text(("from_ns", "to_ns", "reads"), rows)}
    memory = found["memory"]
    title = f"{found['trace']} on {memory['standard']}-{memory['speed_mts']}"
    setting = (terminal.setting(found), f"timings: {memory['source']}")
    return ResultPage(title, setting, tuple(terminal.says(found)), tuple(sections), tables)


KIND = ResultKind("dram.json", terminal.SCHEMA, _page)


def _latency(found: Found) -> PageSection:
    latency = found["read_latency"]
    bars = [(f"{row['from_ns']:.0f} to {row['to_ns']:.0f} ns", row["reads"]) for row in latency["histogram"]]
    names = {"mean_ns": "mean", **{key: key.removesuffix("_ns") for key in latency if key[:1] == "p"}}
    names |= {"least_ns": "least", "most_ns": "most"}
    arrival = found["read_latency_from_arrival"]
    rows = tuple((name, f"{latency[key]:.1f}", f"{arrival[key]:.1f}") for key, name in names.items())
    note = "Of reads: from being taken into a queue to the last beat; beside it from the cycle that the trace states."
    heads = ("ns", "from acceptance", "from arrival")
    return PageSection("Latency", note, (both(partial(histogram, bars, "Reads by latency")),), heads, "lrr", rows)


def _commands(found: Found) -> PageSection:
    rows = tuple((name, count(number)) for name, number in found["commands"].items())
    return PageSection("Commands", "", (), ("command", "count"), "lr", rows)


def _energy(found: Found) -> PageSection:
    energy = {name: joules for name, joules in found["energy_j"].items() if name != "total"}
    whole = found["energy_j"]["total"]
    rows = tuple(
        (name, si(joules, "J"), percent(joules, whole), found["sources"][name]) for name, joules in energy.items()
    )
    chart = both(partial(parts, energy, "J", _ENERGY, "Energy by cause"))
    return PageSection("Energy", "", (chart,), ("cause", "energy", "share", "source"), "lrrl", rows)
