"""What a notebook shows for a run, as HTML: the headline numbers, the sentences and the waterfall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.base.plain import html
from archsim.report.charts.waterfall import waterfall
from archsim.report.run.headline import headline, setting, title
from archsim.report.run.run_sentences import sentences

_STYLE = (
    "<style>.archsim svg.chart{width:100%;max-width:1120px;height:auto;font:13px sans-serif}"
    ".archsim .dim{fill:#5f6873;color:#5f6873}.archsim .link{stroke:#aab2bc}"
    ".archsim td{text-align:left}.archsim td.n{text-align:right;font-weight:600}</style>"
)


def card(summary: Mapping[str, Any]) -> str:
    """The fragment; its style applies inside ``.archsim`` only."""
    rows = "".join(
        f"<tr><td>{html(name)}</td><td class='n'>{html(figure)}</td><td class='dim'>{html(remark)}</td></tr>"
        for name, figure, remark in headline(summary)
    )
    words = "".join(f"<li>{html(sentence)}</li>" for sentence in sentences(summary))
    under = "<br>".join(html(line) for line in setting(summary))
    picture = waterfall(summary["mac_breakdown"], summary["cycles_total"])
    head = f"<h3>{html(title(summary))}</h3><p class='dim'>{under}</p>"
    return f"<div class='archsim'>{_STYLE}{head}<table>{rows}</table><ul>{words}</ul>{picture}</div>"
