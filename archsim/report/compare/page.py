"""comparison.json, report.html and report.md of a comparison, and what a notebook shows of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from archsim.base import plain
from archsim.base.errors import ConfigError
from archsim.base.version import __version__
from archsim.base.writable import write_all
from archsim.report.charts.diverging import diverging
from archsim.report.compare.rows import (
    changes,
    figure_heads,
    figure_rows,
    layer_rows,
    part_rows,
    question_rows,
    wait_rows,
)
from archsim.report.compare.terminal import ALIKE, to_json
from archsim.report.kit.svg import both
from archsim.report.kit.templates import page
from archsim.report.run.markdown import bullets, table
from archsim.report.run.summary import FILE as RUN

FILE = "comparison.json"
WAITS = 20

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
            "names": names,
            "runs": told["runs"],
            "question": question_rows(told),
            "alike": ALIKE,
            "figures": figure_rows(told),
            "figure_heads": figure_heads(told),
            "differences": [_texts(found) for found in told["differences"]],
        },
    )


def markdown(told: Told) -> str:
    """The same in words and tables."""
    names = [run["name"] for run in told["runs"]]
    asked = table(["", *names], "l" + "l" * len(names), question_rows(told)) if told["question"] else ALIKE
    heads = figure_heads(told)
    blocks = [f"# {plain.markdown(_title(names))}", "## What was asked differently", asked]
    blocks += ["## Figures", table(heads, "l" + "r" * (len(heads) - 1), figure_rows(told))]
    for found in told["differences"]:
        blocks += _section(found)
    return "\n\n".join(block for block in blocks if block) + "\n"


def card(told: Told) -> str:
    """The fragment for a notebook: what was asked differently, the figures, the sentences."""
    names = [run["name"] for run in told["runs"]]
    said = "".join(f"<li>{plain.html(text)}</li>" for found in told["differences"] for text in found["says"])
    tables = _fragment(["", *names], question_rows(told)) + _fragment(figure_heads(told), figure_rows(told))
    return f"<div class='archsim'><h3>{plain.html(_title(names))}</h3>{tables}<ul>{said}</ul></div>"


def _fragment(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{plain.html(cell)}</th>" for cell in heads)
    body = "".join(f"<tr>{''.join(f'<td>{plain.html(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _title(names: Sequence[str]) -> str:
    return f"{', '.join(names[1:])} against {names[0]}"


def _texts(found: Told) -> dict[str, Any]:
    unit = found["unit"]
    charts = {
        "slots_chart": partial(diverging, changes(found["slots"], unit, "cause"), "Difference of the time by cause"),
        "energy_chart": partial(diverging, changes(found["energy"], "J", "part"), "Difference of the energy by part"),
    }
    return {
        **found,
        **{name: Markup(both(chart)) for name, chart in charts.items()},
        "slots": part_rows(found["slots"], unit, "cause") if found["slots"] else [],
        "waits": wait_rows(found, WAITS),
        "layers": layer_rows(found),
        "energy": part_rows(found["energy"], "J", "part"),
        "area": part_rows(found["area"], "mm2", "part") if found["area"] else [],
    }


def _section(found: Told) -> list[str]:
    texts, unit = _texts(found), found["unit"]
    pair = [found["base"], found["name"], "difference"]
    layers = [[row["name"], *row["texts"], row["why"], row["energy"], row["remark"]] for row in texts["layers"]]
    blocks = [f"## {plain.markdown(found['name'])} against {plain.markdown(found['base'])}", bullets(found["says"])]
    tables = (
        (f"Time by cause, {unit}", ["cause", *pair], "lrrr", texts["slots"]),
        (f"The arrays' time, {unit}", ["layer", "cause", *pair], "llrrr", texts["waits"]),
        (f"Critical path, {unit}", ["layer", *pair, "from", "energy", "remarks"], "lrrrlrl", layers),
        ("Energy by part", ["part", *pair], "lrrr", texts["energy"]),
        ("Area by part", ["part", *pair], "lrrr", texts["area"]),
    )
    for name, heads, alignment, rows in tables:
        blocks += [f"### {name}", table(heads, alignment, rows)] if rows else []
    return blocks
