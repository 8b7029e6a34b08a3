"""What a notebook shows for a run, as HTML: the headline numbers, the sentences and the waterfall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.base.plain import html
from archsim.report.charts.waterfall import waterfall
from archsim.report.kit.table import ReportTable
from archsim.report.kit.table_notebook import STYLE, rendered
from archsim.report.run.headline import setting, title
from archsim.report.run.layouts import tables
from archsim.report.run.run_sentences import sentences


def card(summary: Mapping[str, Any]) -> str:
    """The fragment for a run; its style applies inside ``.archsim`` only."""
    picture = waterfall(summary["mac_breakdown"], summary["cycles_total"])
    return framed(title(summary), setting(summary), tables(summary)["headline"], sentences(summary), picture)


def framed(name: str, under: Sequence[str], figures: ReportTable, said: Sequence[str], picture: str) -> str:
    """A heading with lines under it, the figures, sentences and a drawing (SVG)."""
    words = "".join(f"<li>{html(sentence)}</li>" for sentence in said)
    lines = "<br>".join(html(line) for line in under)
    head = f"<h3>{html(name)}</h3><p class='dim'>{lines}</p>"
    return f"<div class='archsim'>{STYLE}{head}{rendered(figures)}<ul>{words}</ul>{picture}</div>"
