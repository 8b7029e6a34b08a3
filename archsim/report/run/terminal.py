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

from archsim.report.kit import table_terminal
from archsim.report.kit.console import WIDTH, console
from archsim.report.kit.table import TERMINAL
from archsim.report.run.headline import setting, title
from archsim.report.run.layouts import refinement, tables
from archsim.report.run.run_sentences import sentences

__all__ = ["WIDTH", "FiguresGrid", "console", "show"]


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print the run on ``console``."""
    made = tables(summary)
    console.print(Text(title(summary), style="bold"))
    console.print(Text("\n".join(setting(summary)), style="dim"))
    console.print()
    console.print(FiguresGrid(made["headline"].texts(TERMINAL)))
    for name in ("waterfall", "layers"):
        table_terminal.show_named(made, name, console)
    console.print()
    for sentence in [*sentences(summary), *filter(None, [refinement(summary)])]:
        console.print(Text(sentence))
    table_terminal.show_named(made, "why", console)
    for warning in summary["provenance"].get("warnings", []):
        console.print(Text(f"warning: {warning}", style="yellow"))


@dataclass(frozen=True)
class FiguresGrid:
    """Figures as (name, value, remark): two in a line where all of them fit so, else one below the other, where remarks
    take further lines."""

    figures: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Whichever fits."""
        two = _figures(self.figures, 2, no_wrap=True)
        fits = Measurement.get(console, options.update(max_width=10_000), two).maximum <= options.max_width
        yield two if fits else _figures(self.figures, 1)


def _figures(figures: Sequence[Sequence[str]], across: int, no_wrap: bool = False) -> Table:
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
