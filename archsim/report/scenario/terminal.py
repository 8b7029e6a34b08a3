"""A scenario in a terminal: headline, streams, operating points, what is assumed. Plain in a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from archsim.report.kit import table_terminal
from archsim.report.kit.table import TERMINAL
from archsim.report.run.terminal import FiguresGrid
from archsim.report.scenario.layouts import assumed, tables
from archsim.report.scenario.words import sentences, setting, title


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print the scenario on ``console``."""
    made = tables(summary)
    console.print(Text(title(summary), style="bold"))
    console.print(Text("\n".join(setting(summary)), style="dim"))
    console.print()
    console.print(FiguresGrid(made["headline"].texts(TERMINAL)))
    for name in ("streams", "points"):
        table_terminal.show_named(made, name, console)
    console.print()
    for sentence in [*sentences(summary), assumed(summary)]:
        console.print(Text(sentence))
    for text in summary["details"]["not_modelled"]:
        console.print(Text(f"not modelled: {text}", style="dim"))
    for warning in summary["provenance"]["warnings"]:
        console.print(Text(f"warning: {warning}", style="yellow"))
