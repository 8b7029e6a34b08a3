"""report.html, report.md and the notebook's card of a scenario."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from archsim.base import plain
from archsim.base.plain import html as escaped
from archsim.ir.result import Summary
from archsim.report.charts.frames import MISSED, WAKE, colours, frames
from archsim.report.charts.parts import parts
from archsim.report.kit.assumptions import estimated, sourced
from archsim.report.kit.number_format import si
from archsim.report.kit.svg import both
from archsim.report.kit.templates import page
from archsim.report.scenario import rows
from archsim.report.scenario.words import headline, sentences, setting, title

_POWER = "#0072B2"
_STYLE = (
    "<style>.archsim svg.chart{width:100%;max-width:1120px;height:auto;font:13px sans-serif}"
    ".archsim .dim{fill:#5f6873;color:#5f6873}.archsim .axis{stroke:#9aa3ad}"
    ".archsim td{text-align:left}.archsim td.n{text-align:right;font-weight:600}</style>"
)


def html(summary: Summary) -> str:
    """The page as text; equal summaries give equal bytes."""
    details, period = summary["details"], summary["hyperperiod_s"]
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
            "headline": headline(summary),
            "verdict": sentences(summary),
            "warnings": summary["provenance"]["warnings"],
            "shown": si(details["timeline"]["until_s"], "s"),
            "period": si(period, "s"),
            "timeline": Markup(frames(details["timeline"], list(summary["streams"]))),
            "legend": _legend(summary),
            "streams": rows.streams(summary),
            "powers": [Markup(chart) for chart in powers],
            "points": rows.points(summary),
            "assumed": rows.assumed(summary),
            "rest": rows.rest(summary),
            "not_modelled": details["not_modelled"],
            "estimated": estimated(details["sources"]),
            "sourced": sourced(details["sources"]),
            "provenance": [(key, value) for key, value in summary["provenance"].items() if key != "warnings"],
        },
    )


def _legend(summary: Summary) -> list[tuple[str, str]]:
    found = [(colour, name) for name, colour in colours(list(summary["streams"])).items()]
    slices = summary["details"]["timeline"]["slices"]
    found += [(MISSED, "behind its deadline")] if any(each[4] for each in slices) else []
    return found + ([(WAKE, "waking up")] if any(each[0] is None for each in slices) else [])


def markdown(summary: Summary) -> str:
    """The same in words and tables."""
    lines = [f"# {plain.markdown(title(summary))}", ""]
    lines += [*[f"{plain.markdown(line)}  " for line in setting(summary)], ""]
    lines += [f"- {plain.markdown(sentence)}" for sentence in sentences(summary)]
    lines += ["", *_table((("", "", ""), [*headline(summary)])), "", "## Streams", "", *_table(rows.streams(summary))]
    if summary["points"]:
        lines += ["", "## Operating points", "", *_table(rows.points(summary))]
    lines += ["", "## Power at rest", "", plain.markdown(rows.assumed(summary)), "", *_table(rows.rest(summary)), ""]
    lines += ["## Not modelled", "", *[f"- {plain.markdown(text)}" for text in summary["details"]["not_modelled"]]]
    lines += [
        f"- estimated: {plain.code(keys)}: {plain.markdown(text)}"
        for keys, text in estimated(summary["details"]["sources"])
    ]
    lines += [f"- warning: {plain.markdown(text)}" for text in summary["provenance"]["warnings"]]
    return "\n".join(lines) + "\n"


def _table(table: rows.TextTable) -> list[str]:
    heads, body = table
    texts = [[plain.markdown(cell) for cell in line] for line in (heads, *body)]
    return [f"| {' | '.join(line)} |" for line in (texts[0], ["---"] * len(heads), *texts[1:])]


def card(summary: Summary) -> str:
    """What a notebook shows: headline, sentences and the timeline; its style applies inside ``.archsim`` only."""
    cells = "".join(
        f"<tr><td>{escaped(name)}</td><td class='n'>{escaped(figure)}</td><td class='dim'>{escaped(remark)}</td></tr>"
        for name, figure, remark in headline(summary)
    )
    words = "".join(f"<li>{escaped(sentence)}</li>" for sentence in sentences(summary))
    under = "<br>".join(escaped(line) for line in setting(summary))
    picture = frames(summary["details"]["timeline"], list(summary["streams"]))
    head = f"<h3>{escaped(title(summary))}</h3><p class='dim'>{under}</p>"
    return f"<div class='archsim'>{_STYLE}{head}<table>{cells}</table><ul>{words}</ul>{picture}</div>"
