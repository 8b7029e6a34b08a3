"""report.html and report.md of the suite power: scores by state, points with what draws them."""

from __future__ import annotations

from functools import partial

from archsim.report.charts import residuals
from archsim.report.checks import power
from archsim.report.kit.part_page import PageSection, ResultKind, ResultPage, csv_text
from archsim.report.kit.svg import both

ROWS = "power.csv"
COLUMNS = ("case", "state", "idle_class", "published", "predicted", "low", "high")
WATTS = residuals.Compared("published", "predicted", "W")


def _page(found: power.StoredPower) -> ResultPage:
    told = [{**row, "chip": row["idle_class"], "set": row["state"]} for row in found["rows"]]
    drawn = both(partial(residuals.against, told, what=WATTS))
    sections = (PageSection(power.scores(found), (drawn,)), PageSection(power.points(found)))
    table = csv_text(COLUMNS, [[row[key] for key in COLUMNS] for row in found["rows"]])
    return ResultPage("Power of dies that exist", (), tuple(says(found)), sections, {ROWS: table})


KIND = ResultKind("power.json", "archsim.power_check/1", _page)


def says(found: power.StoredPower) -> list[str]:
    """How far predictions are off, idle and busy, and how many points lie in their bands."""
    rows, score = found["rows"], found["leave_one_out"]
    inside = sum(row["low"] <= row["published"] <= row["high"] for row in rows)
    told = [
        f"{state} {score[state]['factor_gm']:.2f} in the mean and {score[state]['factor_worst']:.2f} at worst"
        for state in ("idle", "busy")
        if score[state]["cases"]
    ]
    return [
        f"Factors by which points are off whose die was left out of the fit: {', '.join(told)}.",
        f"{inside} of {len(rows)} published powers lie in the band that runs print beside theirs.",
    ]
