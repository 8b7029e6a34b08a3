"""report.html and report.md of the suite silicon: predicted against measured, errors by size and intensity, the rows
that are furthest off with what bounds them, and rows without a prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from archsim.report.charts import residuals
from archsim.report.checks import silicon
from archsim.report.kit.number_format import counted
from archsim.report.kit.part_page import PageSection, ResultKind, ResultPage, csv_text
from archsim.report.kit.svg import both

ROWS = "silicon.csv"
COLUMNS = ("set", "case", "time_us", "predicted_us", "error_pct", "command", "not_run")
NEAR = 10.0  # percent


def _page(found: silicon.StoredSilicon) -> ResultPage:
    rows = silicon.scored(found)
    if any(row[key] <= 0 for row in rows for key in ("time_us", "predicted_us", "bytes")):
        raise ValueError("rows: found a time or a size that is not above 0")
    sections = [PageSection(silicon.sets(found), _charts(rows, found["sets"]))]
    sections += [PageSection(made) for made in (silicon.worst(found), silicon.not_run(found)) if made.rows]
    shipped = "as shipped" if found["calibrate"] == "shipped" else "left out"
    setting = f"numbers of platforms that were calibrated: {shipped}"
    table = csv_text(COLUMNS, [[row[key] for key in COLUMNS] for row in found["rows"]])
    return ResultPage("Chips that exist", (setting,), tuple(says(found)), tuple(sections), {ROWS: table})


KIND = ResultKind("silicon.json", "archsim.silicon/1", _page)


def says(found: silicon.StoredSilicon) -> list[str]:
    """How many rows are near, which sets are below both rooflines and which are not, and how many rows were not run."""
    rows, sets = silicon.scored(found), found["sets"]
    if not rows:
        return ["No row could be run."]
    near = sum(abs(row["error_pct"]) <= NEAR for row in rows)
    said = [f"Of {counted(len(rows), 'row')} that were run, {near} are within {NEAR:.0f} % of what was measured."]
    judged = {name: one for name, one in sets.items() if one["fitted_roofline_pct"] is not None}
    above = [name for name, one in judged.items() if not _is_below(one)]
    if judged:
        below = f"Sets below both rooflines: {len(judged) - len(above)} of {len(judged)}"
        said.append(f"{below}; not {', '.join(above)}." if above else f"{below}.")
    left = sum(one["rows_of_set"] - one["rows"] for one in sets.values())
    return [*said, f"{counted(left, 'row')} without a prediction, for the reasons below."] if left else said


def _is_below(one: Mapping[str, Any]) -> bool:
    """Whether a set's mean error is less than those of both rooflines."""
    return bool(one["mape_pct"] < min(one["roofline_pct"], one["fitted_roofline_pct"]))


def _charts(rows: Sequence[Mapping[str, Any]], sets: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Predicted over measured, and errors along bytes and intensity."""
    told = [{**row, "chip": sets[row["set"]]["chip"], "intensity": row["macs"] / row["bytes"]} for row in rows]
    drawn = (
        both(partial(residuals.against, told)),
        both(partial(residuals.along, told, "bytes", "bytes of operands and results")),
        both(partial(residuals.along, told, "intensity", "MACs of a byte")),
    )
    return tuple(drawing for drawing in drawn if drawing)
