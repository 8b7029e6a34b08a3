"""report.html and report.md of a sweep, from what its table says (``archsim.lab.sweep.digest``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from markupsafe import Markup

from archsim.base.plain import markdown as escaped
from archsim.base.version import __version__
from archsim.report.charts.parallel import parallel
from archsim.report.charts.scatter import scatter
from archsim.report.charts.tornado import tornado
from archsim.report.kit.svg import both
from archsim.report.kit.templates import page

SweepDigest = Mapping[str, Any]
WITHIN_HEAD = "within the band of"  # so many other points of the front


def html(digest: SweepDigest) -> str:
    """The page; equal digests give equal bytes."""
    models = [_charted(digest, model) for model in digest["models"]]
    return page("sweep.html.j2", {**digest, "version": __version__, "models": models, "setting": setting(digest)})


def markdown(digest: SweepDigest) -> str:
    """The same in words and tables."""
    lines = [f"# Sweep {escaped(digest['title'])}", "", escaped(setting(digest)), ""]
    columns = [*digest["axes"], *(goal["key"] for goal in digest["goals"])]
    for model in digest["models"]:
        lines += [f"## {escaped(model['model'])}", "", *[f"- {escaped(sentence)}" for sentence in model["says"]], ""]
        unsure = [WITHIN_HEAD] if at_cost(model) else []
        heads = [*map(escaped, columns), *unsure, "loses most to"]
        lines += [f"| point | {' | '.join(heads)} |", "|" + "---|" * (1 + len(heads))]
        for point in model["front"]:
            cells = [escaped(str(point["shown"][key])) for key in columns]
            cells += [str(point["within"])] if unsure else []
            lines.append(f"| {point['point']} | {' | '.join(cells)} | {point['bound']} |")
        lines.append("")
    return "\n".join(lines)


def at_cost(model: Mapping[str, Any]) -> bool:
    """Whether the front of a model has points that were not simulated."""
    return any(point["fidelity"] == "cost" for point in model["front"])


def setting(digest: SweepDigest) -> str:
    """Chip, models, objectives, constraints, how points were chosen and what came of the rows."""
    counts = ", ".join(f"{count} {status}" for status, count in digest["counts"].items())
    goals = ", ".join(goal["name"] for goal in digest["goals"])
    constraints = f"; {', '.join(digest['constraints'])}" if digest["constraints"] else ""
    return (
        f"{digest['chip']} over {', '.join(digest['axes'])}; {goals}{constraints}; {digest['search']}; rows: {counts}"
    )


def _charted(digest: SweepDigest, model: Mapping[str, Any]) -> dict[str, Any]:
    goals = [goal["key"] for goal in digest["goals"]]
    first, *others = digest["goals"]
    pairs = [(first, other) for other in others] or [(first, first)]
    return {
        **model,
        "at_cost": at_cost(model),
        "scatters": [Markup(both(partial(scatter, model["points"], x, y))) for x, y in pairs],
        "parallel": Markup(parallel(model["front"], digest["axes"], goals)),
        "tornado": Markup(both(partial(tornado, model["sensitivity"], goals[0]))),
    }
