"""The run in a terminal: headline, MAC waterfall, slowest layers, warnings. Up to 100 columns; plain in a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from archsim.report.kit.causes import cause, in_order
from archsim.report.kit.console import WIDTH, console
from archsim.report.kit.number_format import NONE, count, counted, percent, shorten
from archsim.report.kit.text_grid import BarCell, GridCell, GridColumn, TextGrid
from archsim.report.run.headline import headline, setting, title
from archsim.report.run.layer_rows import layer_row, refinement, why_notes, why_rows
from archsim.report.run.run_sentences import sentences, slow_layers

__all__ = ["WIDTH", "FiguresGrid", "console", "show", "show_why", "waterfall"]

LAYERS = 10


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print the run on ``console``."""
    console.print(Text(title(summary), style="bold"))
    console.print(Text("\n".join(setting(summary)), style="dim"))
    console.print()
    console.print(FiguresGrid(headline(summary)))
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


def waterfall(summary: Mapping[str, Any]) -> TextGrid:
    """The MAC waterfall as rows of blocks."""
    breakdown, cycles = summary["mac_breakdown"], summary["cycles_total"]
    slots = level = sum(breakdown.values())
    rows = []
    for key in [key for key in in_order([*breakdown]) if key != "useful" and breakdown[key]]:
        level -= breakdown[key]
        rows.append(_slots(key, level, breakdown[key], slots, cycles))
    rows.append(_slots("useful", 0, breakdown.get("useful", 0), slots, cycles))
    return TextGrid(
        (GridColumn("MAC slots", "word"), GridColumn("", "bar"), GridColumn("share"), GridColumn("cycles' worth")), rows
    )


def _slots(key: str, start: int, size: int, slots: int, cycles: int) -> tuple[GridCell, ...]:
    whole = slots or 1
    bar = BarCell(start / whole, (start + size) / whole, cause(key).colour)
    return cause(key).label, bar, percent(size, slots), count(round(size * cycles / whole))


def show_why(summary: Mapping[str, Any], console: Console) -> None:
    """Print the re-simulated changes, if the run has them; those that could not be say why below."""
    found = summary["details"].get("why", [])
    rows = why_rows(found)
    if not rows:
        return
    heads = (GridColumn("change of the chip", "name"), *map(GridColumn, ("cycles", "gain", "gain")))
    failed = [row["name"] for row in found if row["cycles_total"] is None]
    cells = [
        (
            row["name"],
            NONE if row["name"] in failed else row["cycles"],
            row["gain"],
            row["percent"],
            row["area"],
            row["power"],
        )
        for row in rows
    ]
    console.print()
    console.print(TextGrid((*heads, GridColumn("mm2", rank=1), GridColumn("mW", rank=1)), cells))
    for row in rows:
        if row["name"] in failed:
            console.print(Text(f"{row['name']}: {row['cycles']}", style="dim"))
    for note in why_notes(found):
        console.print(Text(note, style="dim"))


@dataclass(frozen=True)
class FiguresGrid:
    """Figures as (name, value, remark): two in a line where all of them fit so, else one below the other, where remarks
    take further lines."""

    figures: Sequence[tuple[str, str, str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Whichever fits."""
        two = _figures(self.figures, 2, no_wrap=True)
        fits = Measurement.get(console, options.update(max_width=10_000), two).maximum <= options.max_width
        yield two if fits else _figures(self.figures, 1)


def _figures(figures: Sequence[tuple[str, str, str]], across: int, no_wrap: bool = False) -> Table:
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    sides = [figures[at::across] for at in range(across)]
    for side in sides:
        name, value = (max((cell_len(figure[at]) for figure in side), default=0) for at in (0, 1))
        grid.add_column(style="dim", no_wrap=True, min_width=name)
        grid.add_column(justify="right", style="bold", no_wrap=True, min_width=value)
        grid.add_column(style="dim", no_wrap=no_wrap)
    for row in zip_longest(*sides, fillvalue=("", "", "")):
        grid.add_row(*(cell for figure in row for cell in figure))
    return grid


def _layers(summary: Mapping[str, Any]) -> TextGrid:
    slow = slow_layers(summary, LAYERS)
    heads = (
        GridColumn(f"slowest of {counted(len(summary['layers']), 'row')}", "name"),
        GridColumn("operator", "text", rank=3),
        GridColumn("critical"),
        GridColumn("of run"),
        GridColumn("bound by", "word"),
        GridColumn("use in span", rank=1),
        GridColumn("longest wait", "text", rank=2),
    )
    rows = []
    for layer in slow:
        row = layer_row(layer, summary["cycles_total"])
        bound = Text(row["bound"], style=row["colour"])
        name, op = shorten(row["name"], 26), shorten(row["op"], 12)
        rows.append((name, op, row["critical_text"], row["share"], bound, row["use_text"], row["wait"]))
    return TextGrid(heads, rows)
