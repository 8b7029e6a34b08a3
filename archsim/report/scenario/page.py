"""report.html, report.md and the notebook's card of a scenario."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from archsim.base import plain
from archsim.ir.result import Summary
from archsim.report.charts.frames import MISSED, WAKE, colours, frames
from archsim.report.charts.parts import parts
from archsim.report.kit.number_format import si
from archsim.report.kit.svg import both
from archsim.report.kit.table import HTML
from archsim.report.kit.table_html import by_name
from archsim.report.kit.table_markdown import bullets, rendered, section
from archsim.report.kit.templates import page
from archsim.report.run.notebook import framed
from archsim.report.scenario.layouts import tables
from archsim.report.scenario.words import sentences, setting, title

_POWER = "#0072B2"


def html(summary: Summary) -> str:
    """The page as text; equal summaries give equal bytes."""
    details, period, made = summary["details"], summary["hyperperiod_s"], tables(summary)
    powers = [
        both(
            partial(parts, {n: joules / period for n, joules in summary[key].items()}, "W", _POWER, f"Power by {what}")
        )
        for key, what in (("energy_breakdown_j", "stream"), ("energy_parts_j", "part"))
    ]
    return page(
        "scenario.html.j2",
        {
            "title": title(summary),
            "setting": setting(summary),
            "description": details["description"],
            "version": summary["provenance"]["archsim_version"],
            "headline": made["headline"].texts(HTML),
            "verdict": sentences(summary),
            "warnings": summary["provenance"]["warnings"],
            "shown": si(details["timeline"]["until_s"], "s"),
            "period": si(period, "s"),
            "timeline": Markup(frames(details["timeline"], list(summary["streams"]))),
            "legend": _legend(summary),
            "powers": [Markup(chart) for chart in powers],
            "table": by_name(made),
            "not_modelled": details["not_modelled"],
        },
    )


def _legend(summary: Summary) -> list[tuple[str, str]]:
    found = [(colour, name) for name, colour in colours(list(summary["streams"])).items()]
    slices = summary["details"]["timeline"]["slices"]
    found += [(MISSED, "behind its deadline")] if any(each[4] for each in slices) else []
    return found + ([(WAKE, "waking up")] if any(each[0] is None for each in slices) else [])


def markdown(summary: Summary) -> str:
    """The same in words and tables."""
    made = tables(summary)
    blocks = [f"# {plain.markdown(title(summary))}", "  \n".join(plain.markdown(line) for line in setting(summary))]
    blocks += [rendered(made["headline"]), bullets(sentences(summary))]
    if summary["provenance"]["warnings"]:
        blocks += ["## Warnings", bullets(summary["provenance"]["warnings"])]
    blocks += [block for name in ("streams", "points", "rest") if name in made for block in section(made[name])]
    blocks += ["## Not modelled", bullets(summary["details"]["not_modelled"])]
    blocks += [block for name in ("estimated", "provenance") if name in made for block in section(made[name])]
    return "\n\n".join(block for block in blocks if block) + "\n"


def card(summary: Summary) -> str:
    """What a notebook shows: headline, sentences and the timeline; its style applies inside ``.archsim`` only."""
    picture = frames(summary["details"]["timeline"], list(summary["streams"]))
    return framed(title(summary), setting(summary), tables(summary)["headline"], sentences(summary), picture)
