"""comparison.json, report.html and report.md of a comparison, and what a notebook shows of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from archsim.base import plain
from archsim.base.errors import ConfigError
from archsim.base.version import __version__
from archsim.base.writable import write_all
from archsim.report.charts.diverging import ChangeBar, diverging
from archsim.report.compare.layouts import amount, difference_tables, signed, tables
from archsim.report.compare.terminal import ALIKE, to_json
from archsim.report.kit.causes import cause, label
from archsim.report.kit.svg import both
from archsim.report.kit.table import NOTEBOOK
from archsim.report.kit.table_html import by_name
from archsim.report.kit.table_markdown import bullets, section
from archsim.report.kit.table_notebook import STYLE, rendered
from archsim.report.kit.templates import page
from archsim.report.run.summary import FILE as RUN

FILE = "comparison.json"
LEAST = 0.001  # of the whole difference: rows of a chart

Told = Mapping[str, Any]


def write(directory: Path, told: Told) -> list[Path]:
    """Write the files; returns their paths. Raises ConfigError where they cannot be, or would replace a run's pages."""
    if (directory / RUN).exists():
        raise ConfigError(f"{directory}: holds a run, whose pages would be replaced; allowed another directory")
    return write_all(directory, {FILE: to_json(told) + "\n", **_pages(told)})


def rebuild(directory: Path) -> list[Path]:
    """Make the pages again from the stored comparison; returns their paths."""
    file = directory / FILE
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from error
    return write_all(directory, _pages(told))


def _pages(told: Told) -> dict[str, str]:
    return {"report.html": html(told), "report.md": markdown(told)}


def html(told: Told) -> str:
    """The page; equal comparisons give equal bytes."""
    names = [run["name"] for run in told["runs"]]
    return page(
        "compare.html.j2",
        {
            "title": _title(names),
            "version": __version__,
            "runs": told["runs"],
            "alike": ALIKE,
            "table": by_name(tables(told)),
            "differences": [_charted(found, f"layers-{at}") for at, found in enumerate(told["differences"], 1)],
        },
    )


def markdown(told: Told) -> str:
    """The same in words and tables."""
    made = tables(told)
    blocks = [f"# {plain.markdown(_title([run['name'] for run in told['runs']]))}"]
    blocks += [] if "question" in made else ["## What was asked differently", ALIKE]
    blocks += [block for table in made.values() for block in section(table)]
    for found in told["differences"]:
        blocks += [
            f"## {plain.markdown(found['name'])} against {plain.markdown(found['base'])}",
            bullets(found["says"]),
        ]
        blocks += [block for table in difference_tables(found).values() for block in section(table, 3)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def card(told: Told) -> str:
    """The fragment for a notebook: what was asked differently, the figures, the sentences."""
    names = [run["name"] for run in told["runs"]]
    said = "".join(f"<li>{plain.html(text)}</li>" for found in told["differences"] for text in found["says"])
    shown = "".join(rendered(table) for table in tables(told).values() if NOTEBOOK in table.media)
    return f"<div class='archsim'>{STYLE}<h3>{plain.html(_title(names))}</h3>{shown}<ul>{said}</ul></div>"


def _title(names: Sequence[str]) -> str:
    return f"{', '.join(names[1:])} against {names[0]}"


def _charted(found: Told, key: str) -> dict[str, Any]:
    """What the page shows of a difference: sentences, tables and drawings."""
    charts = {
        "slots_chart": partial(
            diverging, changes(found["slots"], found["unit"], "cause"), "Difference of the time by cause"
        ),
        "energy_chart": partial(diverging, changes(found["energy"], "J", "part"), "Difference of the energy by part"),
    }
    drawn = {name: list(filter(None, [both(chart)])) for name, chart in charts.items()}
    return {**found, **drawn, "table": by_name(difference_tables(found, key))}


def changes(rows: Sequence[Told], unit: str, key: str) -> list[ChangeBar]:
    """The differences as bars of a chart, without those that could not be seen."""
    most = sum(abs(row["difference"]) for row in rows)
    made = []
    for row in rows:
        if abs(row["difference"]) > LEAST * most:
            name = label(row[key]) if key == "cause" else row[key]
            colour = cause(row[key]).colour if key == "cause" else "#0072B2"
            base, other = amount(row["base"], unit), amount(row["other"], unit)
            told = f"{name}: {base} before, {other} now"
            made.append(ChangeBar(name, row["difference"], colour, signed(row["difference"], unit), told))
    return made
