"""report.html and report.md of the suite area: scores, dies with the parts they are made of, floorplans."""

from __future__ import annotations

from functools import partial

from archsim.report.charts import residuals
from archsim.report.checks import area
from archsim.report.kit.part_page import PageSection, ResultKind, ResultPage, csv_text
from archsim.report.kit.svg import both

ROWS = "area.csv"
COLUMNS = ("case", "class", "status", "published", "predicted", "low", "high")


AREAS = residuals.Compared("published", "predicted", area.MM2)


def _page(found: area.StoredArea) -> ResultPage:
    told = [{**row, "chip": row["class"], "set": row["status"]} for row in found["rows"]]
    drawn = both(partial(residuals.against, told, what=AREAS))
    sections = (
        PageSection(area.scores(found), (drawn,)),
        PageSection(area.dies(found)),
        PageSection(area.floorplans(found)),
        PageSection(area.parts(found)),
    )
    table = csv_text(COLUMNS, [[row[key] for key in COLUMNS] for row in found["rows"]])
    return ResultPage("Dies that exist", (), tuple(says(found)), sections, {ROWS: table})


KIND = ResultKind("area.json", "archsim.area_check/1", _page)


def says(found: area.StoredArea) -> list[str]:
    """How far predictions are off, and how many published areas lie in their bands."""
    score = found["leave_one_out"]
    scored = [row for row in found["rows"] if row["status"] in ("seen", "bound")]
    inside = sum(row["low"] is not None and row["low"] <= row["published"] <= row["high"] for row in scored)
    said = f"{score['cases']} dies whose area was published were predicted without themselves in the fit"
    return [
        f"{said}: the mean factor is {score['factor_gm']:.2f}, the worst {score['factor_worst']:.2f}.",
        f"{inside} of {len(scored)} published areas lie in the band that runs print beside theirs.",
    ]
