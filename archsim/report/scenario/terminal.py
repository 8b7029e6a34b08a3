"""A scenario in a terminal: headline, streams, operating points, what is assumed. Plain in a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from archsim.report.kit.text_grid import ColumnKind, GridColumn, TextGrid
from archsim.report.run.terminal import FiguresGrid
from archsim.report.scenario import rows
from archsim.report.scenario.words import headline, sentences, setting, title

KINDS: Mapping[str, ColumnKind] = {"stream": "name", "point": "name", "model": "name", "set": "word"}
ASIDE = ("load", "run", "least slack", "mean", "energy a frame", "deadline", "model")


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print the scenario on ``console``."""
    console.print(Text(title(summary), style="bold"))
    console.print(Text("\n".join(setting(summary)), style="dim"))
    console.print()
    console.print(FiguresGrid(headline(summary)))
    console.print()
    console.print(_grid(rows.streams(summary), *ASIDE))
    if summary["points"]:
        console.print()
        console.print(_grid(rows.points(summary), "set", "load", "at rest", "peak"))
    console.print()
    for sentence in [*sentences(summary), rows.assumed(summary)]:
        console.print(Text(sentence))
    for text in summary["details"]["not_modelled"]:
        console.print(Text(f"not modelled: {text}", style="dim"))
    for warning in summary["provenance"]["warnings"]:
        console.print(Text(f"warning: {warning}", style="yellow"))


def _grid(table: rows.TextTable, *aside: str) -> TextGrid:
    """Columns of ``aside`` are the first to go where room is short, the last of them first of all."""
    heads, body = table
    ranks = {name: rank for rank, name in enumerate(aside, start=1)}
    return TextGrid([GridColumn(name, KINDS.get(name, "number"), ranks.get(name, 0)) for name in heads], body)
