"""Predicted against measured figures, each row a dot in the colour of its chip, and how far off along a quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archsim.report.charts.plot import PlotBox, PlotScale
from archsim.report.charts.power import colours
from archsim.report.kit import svg
from archsim.report.kit.svg import DrawingFrame

LEFT, RIGHT, TOP, BOTTOM = 76.0, 1090.0, 16.0, 352.0
LINE, LETTER = 18.0, 6.4  # of the legend
RATIOS = (0.1, 0.2, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 5.0, 10.0)  # predicted by measured, along the upright axis
_FURTHEST = 10.0  # beyond which a dot stands at the edge

ScoredRow = Mapping[str, Any]  # chip, set, case, the measured and predicted figure, and what a chart goes along


class Compared(NamedTuple):
    """What is compared: keys of a row's measured and predicted figures, and their unit."""

    measured: str
    predicted: str
    unit: str


TIMES = Compared("time_us", "predicted_us", "µs")


class _Dot(NamedTuple):
    """A row where it is drawn."""

    across: float
    up: float
    row: ScoredRow


def against(rows: Sequence[ScoredRow], frame: DrawingFrame = svg.WIDE, *, what: Compared = TIMES) -> str:
    """Predicted over measured figures of every row, with the line on which both are equal; '' without rows."""
    if not rows:
        return ""
    box = PlotBox(frame, LEFT, RIGHT, TOP, BOTTOM).fitted()
    ends = [row[key] for row in rows for key in (what.measured, what.predicted)]
    across, up = PlotScale(ends, box.left, box.right), PlotScale(ends, box.bottom, box.top)
    low, high = min(ends), max(ends)
    drawn = [box.across(across.ticks(), across.at, _told), box.up(up.ticks(), up.at, _told)]
    drawn.append(svg.line(across.at(low), up.at(low), across.at(high), up.at(high), css="roof"))
    dots = [_Dot(across.at(row[what.measured]), up.at(row[what.predicted]), row) for row in rows]
    names = (f"measured, {what.unit}", f"predicted, {what.unit}")
    return _picture(box, dots, names, drawn, _colours(rows), what)


def along(rows: Sequence[ScoredRow], key: str, name: str, frame: DrawingFrame = svg.WIDE) -> str:
    """Predicted by measured time of rows along one of their quantities, which is above 0 in each that is drawn; ''
    where it is in none."""
    shown = [row for row in rows if row[key]]
    if not shown:
        return ""
    box = PlotBox(frame, LEFT, RIGHT, TOP, BOTTOM).fitted()
    ratios = [min(max(row["predicted_us"] / row["time_us"], 1 / _FURTHEST), _FURTHEST) for row in shown]
    around = [*ratios, 0.7, 1 / 0.7]
    across = PlotScale([row[key] for row in shown], box.left, box.right)
    up = PlotScale(around, box.bottom, box.top, is_log=True)
    ticks = [ratio for ratio in RATIOS if min(around) <= ratio <= max(around)]
    drawn = [box.across(across.ticks(), across.at, _told), box.up(ticks, up.at, _told)]
    drawn.append(svg.line(box.left, up.at(1.0), box.right, up.at(1.0), css="roof"))
    dots = [_Dot(across.at(row[key]), up.at(ratio), row) for row, ratio in zip(shown, ratios, strict=True)]
    return _picture(box, dots, (name, "predicted / measured"), drawn, _colours(rows), TIMES)


def _colours(rows: Sequence[ScoredRow]) -> dict[str, str]:
    """The colour of each chip, the same in all charts of the same rows."""
    return colours(list(dict.fromkeys(row["chip"] for row in rows)))


def _picture(
    box: PlotBox,
    dots: Sequence[_Dot],
    names: tuple[str, str],
    drawn: list[str],
    chips: Mapping[str, str],
    what: Compared,
) -> str:
    drawn += [_drawn(dot, chips[dot.row["chip"]], box.frame, what) for dot in dots]
    drawn.append(box.names(*names))
    shown = {dot.row["chip"] for dot in dots}
    legend, height = _legend({chip: colour for chip, colour in chips.items() if chip in shown}, box)
    return svg.picture(box.height + height, f"{names[1]} over {names[0]}", [*drawn, *legend], box.frame)


def _drawn(dot: _Dot, colour: str, frame: DrawingFrame, what: Compared) -> str:
    row, unit = dot.row, what.unit
    measured, predicted = row[what.measured], row[what.predicted]
    tip = f"{row['set']}, {row['case']}: measured {measured:,.2f} {unit}, predicted {predicted:,.2f} {unit}"
    tip += f" ({100 * (predicted / measured - 1):+.1f} %)"
    mark = svg.title(frame.tip(tip))
    return svg.tag("circle", mark, cx=dot.across, cy=dot.up, r=3.0, fill=colour, fill_opacity=0.6, class_="dot")


def _legend(chips: Mapping[str, str], box: PlotBox) -> tuple[list[str], float]:
    """The name of every chip in its colour, in as many lines as they need; and their height."""
    drawn, x, y = [], 0.0, box.height + LINE
    for name, colour in chips.items():
        wide = 18 + LETTER * len(name)
        if x and x + wide > box.frame.width:
            x, y = 0.0, y + LINE
        drawn += [svg.tag("circle", "", cx=x + 5, cy=y - 4, r=4.0, fill=colour), svg.text(x + 13, y, name, "t small")]
        x += wide + 12
    return drawn, y + 6 - box.height


def _told(value: float) -> str:
    return f"{value:,g}" if value < 1e6 else f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
