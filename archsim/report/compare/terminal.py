"""A comparison in a terminal: what differs in the question, figures with ratios, then why, run by run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from archsim.report.compare.rows import figure_heads, figure_rows, layer_rows, part_rows, question_rows, wait_rows
from archsim.report.kit.number_format import shorten
from archsim.report.kit.text_grid import GridColumn, TextGrid
from archsim.report.run import terminal

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
    for run in told["runs"]:
        console.print(Text(run["name"], style="bold"), Text(f"{run['title']}; {run['setting'][-1]}", style="dim"))
    console.print()
    if told["question"]:
        console.print(_asked(told))
    else:
        console.print(Text(ALIKE))
    console.print()
    console.print(_figures(told))
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


def _figures(told: Told) -> TextGrid:
    """Of many runs the last are left out first where room is short."""
    heads = figure_heads(told)
    ranks = [0, 0, *(at // 2 for at in range(len(heads) - 2))]
    return TextGrid(
        [
            GridColumn(head, "number" if at else "word", rank)
            for at, (head, rank) in enumerate(zip(heads, ranks, strict=True))
        ],
        figure_rows(told),
    )


def _asked(told: Told) -> TextGrid:
    names = [run["name"] for run in told["runs"]]
    columns = [GridColumn("what differs", "word"), *(GridColumn(name, "text", at) for at, name in enumerate(names))]
    return TextGrid(columns, question_rows(told))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> TextGrid:
    """``left`` columns of names, then numbers; a heading of '' is of remarks, which go first."""
    columns = [GridColumn(head, "name" if at < left else "number") for at, head in enumerate(heads)]
    return TextGrid([column if column.head else GridColumn("", "text", 1) for column in columns], rows)
