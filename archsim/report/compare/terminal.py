"""A comparison in a terminal: what differs in the question, figures with ratios, then why, run by run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from archsim.report.compare.layouts import difference_tables, tables
from archsim.report.kit import table_terminal
from archsim.report.kit.console import WIDTH

ALIKE = "The runs were asked the same: model, chip, options and version are equal."

Told = Mapping[str, Any]


def to_json(told: Told) -> str:
    """JSON text without a closing newline."""
    return json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)


def width(told: Told) -> int | None:
    """Columns of a terminal that the figures need; None where the usual ones do."""
    needed = 28 + 25 * len(told["runs"])
    return needed if needed > WIDTH else None


def show(told: Told, console: Console) -> None:
    """Print the comparison."""
    for run in told["runs"]:
        console.print(Text(run["name"], style="bold"), Text(f"{run['title']}; {run['setting'][-1]}", style="dim"))
    made = tables(told)
    if "question" not in made:
        console.print()
        console.print(Text(ALIKE))
    for table in made.values():
        table_terminal.show(table, console)
    for found in told["differences"]:
        console.print()
        console.print(Text(f"{found['name']} against {found['base']}", style="bold"))
        for sentence in found["says"]:
            console.print(Text(sentence))
        for table in difference_tables(found).values():
            table_terminal.show(table, console)
