"""report.html and report.md of a sweep, from what its table says (``archsim.lab.sweep.digest``)."""

from __future__ import annotations

from functools import partial
from typing import Any

from markupsafe import Markup

from archsim.base.plain import markdown as escaped
from archsim.base.version import __version__
from archsim.report.charts.parallel import parallel
from archsim.report.charts.scatter import scatter
from archsim.report.charts.tornado import tornado
from archsim.report.kit.svg import both
from archsim.report.kit.table_html import by_name
from archsim.report.kit.table_markdown import bullets, rendered
from archsim.report.kit.templates import page
from archsim.report.sweep.layouts import SweepDigest, front


def html(digest: SweepDigest) -> str:
    """The page; equal digests give equal bytes."""
    models = [_charted(digest, model) for model in digest["models"]]
    return page("sweep.html.j2", {**digest, "version": __version__, "models": models, "setting": setting(digest)})


def markdown(digest: SweepDigest) -> str:
    """The same in words and tables."""
    blocks = [f"# Sweep {escaped(digest['title'])}", escaped(setting(digest))]
    for model in digest["models"]:
        made = front(digest, model)
        blocks += [f"## {escaped(model['model'])}", bullets(model["says"]), escaped(made.note), rendered(made)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def setting(digest: SweepDigest) -> str:
    """Chip, models, objectives, constraints, how points were chosen and what came of the rows."""
    counts = ", ".join(f"{count} {status}" for status, count in digest["counts"].items())
    goals = ", ".join(goal["name"] for goal in digest["goals"])
    constraints = f"; {', '.join(digest['constraints'])}" if digest["constraints"] else ""
    return (
        f"{digest['chip']} over {', '.join(digest['axes'])}; {goals}{constraints}; {digest['search']}; rows: {counts}"
    )


def _charted(digest: SweepDigest, model: SweepDigest) -> dict[str, Any]:
    goals = [goal["key"] for goal in digest["goals"]]
    first, *others = digest["goals"]
    pairs = [(first, other) for other in others] or [(first, first)]
    return {
        **model,
        "table": by_name({"front": front(digest, model)}),
        "scatters": [Markup(both(partial(scatter, model["points"], x, y))) for x, y in pairs],
        "parallel": Markup(parallel(model["front"], digest["axes"], goals)),
        "tornado": Markup(both(partial(tornado, model["sensitivity"], goals[0]))),
    }
