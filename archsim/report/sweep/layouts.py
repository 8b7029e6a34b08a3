"""The table of a sweep: the points of a model's front, laid out once for pages, terminal and notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.kit.table import HTML, MARKDOWN, NOTEBOOK, TERMINAL, ReportTable, ShortForm, TableCell, TableColumn

WITHIN_HEAD = "within the band of"  # so many other points of the front
FRONT = 20  # rows on a terminal
AT_COST = "cost"  # the fidelity that only estimates

SweepDigest = Mapping[str, Any]


def front(digest: SweepDigest, model: Mapping[str, Any], elsewhere: str = "results.parquet has all") -> ReportTable:
    """The front of a model: ``digest`` has ``axes`` and ``goals``, ``model`` its name as ``model`` and its ``front``.

    Which of a sweep's models it is, and at which fidelity, stands in the title, which a terminal shows.
    """
    axes, goals = digest["axes"], [goal["key"] for goal in digest["goals"]]
    unsure = at_cost(model)
    rows = [
        (
            point["point"],
            *(TableCell(point["values"][axis], str(point["shown"][axis])) for axis in axes),
            *(TableCell(point["goals"][goal], point["shown"][goal]) for goal in goals),
            *([point["within"]] if unsure else []),
            point["bound"],
            point["fidelity"],
        )
        for point in model["front"]
    ]
    within = TableColumn(
        WITHIN_HEAD, meaning="how many other points of the front fidelity cost cannot tell this one from"
    )
    columns: Sequence[TableColumn] = (
        TableColumn("point"),
        *(TableColumn(axis, rank=2) for axis in axes),
        *(TableColumn(goal) for goal in goals),
        *([within] if unsure else []),
        TableColumn("loses most to", "word", rank=3, meaning="where most of the arrays' MAC slots were lost"),
        TableColumn("fidelity", "word", media=(MARKDOWN, HTML, NOTEBOOK)),
    )
    at = " and ".join(dict.fromkeys(point["fidelity"] for point in model["front"]))
    rungs = f" at fidelity {at}" if at else ""
    note = "Each point is at the best fidelity that was run, and says what most of the arrays' MAC slots are lost to."
    if unsure:
        note += " Within the band of: so many other points of the front, from which fidelity cost cannot tell this one."
    return ReportTable(
        f"Front of {model['model']}{rungs}", columns, rows, note, short=ShortForm({TERMINAL: FRONT}),
        sortable=True, elsewhere=elsewhere,
    )  # fmt: skip


def at_cost(model: Mapping[str, Any]) -> bool:
    """Whether the front of a model has points that were not simulated."""
    return any(point["fidelity"] == AT_COST for point in model["front"])
