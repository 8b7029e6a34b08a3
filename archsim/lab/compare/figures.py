"""The figures of runs side by side, with their ratios to the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.ir.figure_table import DRAM, FIGURES, SAMPLE, Number, ResultFigure
from archsim.report.kit.quantity import unit_of
from archsim.report.run.headline import bound_of, samples


def figures(summaries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """``{key, label, unit, values, ratios}``; None where a run has no figure.

    Figures that no run has are left out, those of a sample where every run is of one.
    """
    rows = []
    batches = any(samples(summary)["samples"] > 1 for summary in summaries)
    for row in compared(batches=batches):
        values = [row.of(summary) for summary in summaries]
        if any(value is not None for value in values):
            ratios = [_ratio(value, values[0]) for value in values]
            said = {"key": row.key, "label": _label(summaries, row), "unit": unit_of(row.key)}
            rows.append({**said, "values": values, "ratios": ratios})
    return rows


def compared(*, batches: bool) -> list[ResultFigure]:
    """The rows of the table that comparisons show, those of a sample last and for batches alone."""
    order = ["", DRAM, *([SAMPLE] if batches else [])]
    return [row for section in order for row in FIGURES.stored[section] if row.compared]


def _label(summaries: Sequence[Mapping[str, Any]], row: ResultFigure) -> str:
    """With what is said of the figure's bounds."""
    said = dict.fromkeys(filter(None, (bound_of(summary, row.key) for summary in summaries)))
    return f"{row.label} ({', '.join(said)})" if said else row.label


def _ratio(value: Number, base: Number) -> float | None:
    return value / base if value is not None and base else None
