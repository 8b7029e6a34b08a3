"""A comparison in a terminal: what differs in the question, figures with ratios, then why, run by run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from archsim.report import terminal
from archsim.report.compare_rows import (
    figure_heads,
    figure_rows,
    layer_rows,
    part_rows,
    question_rows,
    wait_rows,
)
from archsim.report.format import shorten

WAITS, LAYERS, NAME = 10, 10, 26
ALIKE = "The runs were asked the same: model, chip, options and version are equal."

Told = Mapping[str, Any]


def to_json(told: Told) -> str:
    """JSON text without a closing newline."""
    return json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)


def width(told: Told) -> int | None:
    """Columns of a terminal that the figures need; None where the usual ones do."""
    needed = 28 + 25 * len(told["runs"])
    return needed if needed > terminal.WIDTH else None


def show(told: Told, console: Console) -> None:
    """Print the comparison."""
    names = [run["name"] for run in told["runs"]]
    for run in told["runs"]:
        console.print(Text(run["name"], style="bold"), Text(f"{run['title']}; {run['setting'][-1]}", style="dim"))
    console.print()
    if told["question"]:
        console.print(_table(["what differs", *names], question_rows(told)))
    else:
        console.print(Text(ALIKE))
    console.print()
    console.print(_table(figure_heads(told), figure_rows(told)))
    for found in told["differences"]:
        _difference(found, console)


def _difference(found: Told, console: Console) -> None:
    unit, pair = found["unit"], [found["base"], found["name"], "difference"]
    console.print()
    console.print(Text(f"{found['name']} against {found['base']}", style="bold"))
    for sentence in found["says"]:
        console.print(Text(sentence))
    if found["slots"]:
        console.print()
        console.print(_table([f"time by MAC slots, {unit}", *pair], part_rows(found["slots"], unit, "cause")))
    waits = wait_rows(found, WAITS)
    if waits:
        console.print()
        console.print(_table([f"arrays' time, {unit}", "cause", *pair], waits, left=2))
    layers = [
        [shorten(row["name"], NAME), *row["texts"], row["energy"], shorten(row["remark"], NAME)]
        for row in layer_rows(found)[:LAYERS]
    ]
    if layers:
        console.print()
        console.print(_table([f"critical path, {unit}", *pair, "energy", ""], layers))
    console.print()
    console.print(_table(["energy by part", *pair], part_rows(found["energy"], "J", "part")))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Table:
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False, header_style="dim")
    for at, head in enumerate(heads):
        made.add_column(shorten(head, NAME), justify="left" if at < left or not head else "right", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made
