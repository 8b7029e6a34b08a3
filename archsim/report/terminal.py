"""The run in a terminal: headline, MAC waterfall, slowest layers, warnings. 100 columns; plain in a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from archsim.report.causes import cause, in_order
from archsim.report.console import WIDTH, console
from archsim.report.format import count, counted, percent, shorten
from archsim.report.headline import headline, setting, title
from archsim.report.rows import layer_row, refinement, why_notes, why_rows
from archsim.report.verdict import sentences, slow_layers

__all__ = ["WIDTH", "console", "figures_grid", "show", "show_why", "waterfall"]

BAR = 44
LAYERS = 10


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print the run on ``console``."""
    console.print(Text(title(summary), style="bold"))
    console.print(Text("\n".join(setting(summary)), style="dim"))
    console.print()
    console.print(figures_grid(headline(summary)))
    console.print()
    console.print(waterfall(summary))
    console.print()
    console.print(_layers(summary))
    console.print()
    for sentence in sentences(summary):
        console.print(Text(sentence))
    if refinement(summary):
        console.print(Text(refinement(summary)))
    show_why(summary, console)
    for warning in summary["provenance"].get("warnings", []):
        console.print(Text(f"warning: {warning}", style="yellow"))


def waterfall(summary: Mapping[str, Any]) -> Table:
    """The MAC waterfall as rows of blocks."""
    breakdown, cycles = summary["mac_breakdown"], summary["cycles_total"]
    slots, level = sum(breakdown.values()), sum(breakdown.values())
    grid = _grid(("MAC slots", "left"), ("", "left"), ("share", "right"), ("cycles' worth", "right"))
    losses = [key for key in in_order([*breakdown]) if key != "useful" and breakdown[key]]
    for key in losses:
        level -= breakdown[key]
        grid.add_row(
            cause(key).label,
            _bar(level, breakdown[key], slots, cause(key).colour),
            *_figures(breakdown[key], slots, cycles),
        )
    useful = breakdown.get("useful", 0)
    grid.add_row(
        cause("useful").label,
        _bar(0, useful, slots, cause("useful").colour),
        *_figures(useful, slots, cycles),
    )
    return grid


def show_why(summary: Mapping[str, Any], console: Console) -> None:
    """Print the re-simulated changes, if the run has them."""
    rows = why_rows(summary["details"].get("why", []))
    if not rows:
        return
    grid = _grid(
        ("change of the chip", "left"),
        ("cycles", "right"),
        ("gain", "right"),
        ("gain", "right"),
        ("mm2", "right"),
        ("mW", "right"),
    )
    for row in rows:
        grid.add_row(row["name"], row["cycles"], row["gain"], row["percent"], row["area"], row["power"])
    console.print()
    console.print(grid)
    for note in why_notes(summary["details"]["why"]):
        console.print(Text(note, style="dim"))


def figures_grid(figures: Sequence[tuple[str, str, str]]) -> Table:
    """Figures as (name, value, remark), two in a line; where room is short, remarks alone are cut."""
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for side in (figures[::2], figures[1::2]):
        name, value = (max((len(figure[at]) for figure in side), default=0) for at in (0, 1))
        grid.add_column(style="dim", no_wrap=True, min_width=name)
        grid.add_column(justify="right", style="bold", no_wrap=True, min_width=value)
        grid.add_column(style="dim", no_wrap=True)
    for left, right in zip_longest(figures[::2], figures[1::2], fillvalue=("", "", "")):
        grid.add_row(*left, *right)
    return grid


def _layers(summary: Mapping[str, Any]) -> Table:
    slow = slow_layers(summary, LAYERS)
    grid = _grid(
        (f"slowest of {counted(len(summary['layers']), 'row')}", "left"),
        ("operator", "left"),
        ("critical", "right"),
        ("of run", "right"),
        ("bound by", "left"),
        ("use in span", "right"),
        ("longest wait", "left"),
    )
    for layer in slow:
        row = layer_row(layer, summary["cycles_total"])
        bound = Text(row["bound"], style=row["colour"])
        name = shorten(row["name"], 26)
        grid.add_row(
            name,
            shorten(row["op"], 12),
            row["critical_text"],
            row["share"],
            bound,
            row["use_text"],
            row["wait"],
        )
    return grid


def _grid(*columns: tuple[str, str]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False, header_style="dim")
    for name, justify in columns:
        grid.add_column(name, justify="right" if justify == "right" else "left", no_wrap=True)
    return grid


def _bar(start: int, size: int, slots: int, colour: str) -> Text:
    first = round(BAR * start / slots) if slots else 0
    last = max(round(BAR * (start + size) / slots) if slots else 0, first + 1 if size else first)
    first = min(first, BAR - 1)
    return (
        Text(" " * first)
        + Text("\N{FULL BLOCK}" * (min(last, BAR) - first), style=colour)
        + Text(" " * (BAR - min(last, BAR)))
    )


def _figures(size: int, slots: int, cycles: int) -> tuple[str, str]:
    return percent(size, slots), count(round(size * cycles / slots) if slots else 0)
