"""A scenario in a terminal: headline, streams, operating points, what is assumed. Plain in a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from archsim.report.scenario import rows
from archsim.report.scenario.words import headline, sentences, setting, title
from archsim.report.terminal import figures_grid


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print the scenario on ``console``."""
    console.print(Text(title(summary), style="bold"))
    console.print(Text("\n".join(setting(summary)), style="dim"))
    console.print()
    console.print(figures_grid(headline(summary)))
    console.print()
    console.print(_grid(*_without(rows.streams(summary), "model", "deadline", "mean", "energy a frame")))
    if summary["points"]:
        console.print()
        console.print(_grid(*_without(rows.points(summary), "peak")))
    console.print()
    for sentence in [*sentences(summary), rows.assumed(summary)]:
        console.print(Text(sentence))
    for text in summary["details"]["not_modelled"]:
        console.print(Text(f"not modelled: {text}", style="dim"))
    for warning in summary["provenance"]["warnings"]:
        console.print(Text(f"warning: {warning}", style="yellow"))


def _without(table: rows.Table, *names: str) -> rows.Table:
    """The columns that 100 characters have room for."""
    heads, body = table
    kept = [at for at, name in enumerate(heads) if name not in names]
    return tuple([heads[at] for at in kept]), [tuple([row[at] for at in kept]) for row in body]


def _grid(heads: tuple[str, ...], body: Sequence[tuple[str, ...]]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False, header_style="dim")
    for name in heads:
        grid.add_column(name, justify="left" if name in ("stream", "point", "set") else "right", no_wrap=True)
    for row in body:
        grid.add_row(*row)
    return grid
