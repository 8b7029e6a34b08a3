"""Frames over time: a row per stream, a mark at each release and deadline, a block for each stretch of work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.charts.time_axis import LEFT, RIGHT, axis, place
from archsim.report.kit import svg
from archsim.report.kit.number_format import shorten, si

ROW, BAR = 34.0, 20.0
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#7A6BA8", "#56B4E9", "#CC79A7", "#8A8D3C", "#7B2D43")
MISSED, WAKE, TRACK = "#D55E00", "#C9B458", "#F3F5F7"
REST = "#D5DAE0"


def colours(streams: Sequence[str]) -> dict[str, str]:
    """One colour for each stream, in turn."""
    return {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(streams)}


def frames(timeline: Mapping[str, Any], streams: Sequence[str]) -> str:
    """``timeline``: as of ``details.timeline`` of a scenario's summary, whose ``streams`` are the rows."""
    total = timeline["until_s"]
    drawn = []
    for at, name in enumerate(streams):
        drawn.append(svg.text(LEFT - 10, at * ROW + BAR + 1, shorten(name, 9), "t", "end"))
        drawn.append(svg.rect(LEFT, at * ROW + 6, RIGHT - LEFT, BAR, TRACK))
    rows = {name: at * ROW + 6 for at, name in enumerate(streams)}
    fills = colours(streams)
    for name, number, start, end, missed in timeline["slices"]:
        y = rows.get(name, 0.0)
        height = BAR if name is not None else len(streams) * ROW - 14
        fill = WAKE if name is None else MISSED if missed else fills[name]
        drawn.append(_block(name, number, start, end, missed, y if name else 6.0, height, fill, total))
    for name, release, _ in timeline["releases"]:
        if 0 <= release <= total:
            x = place(release, total)
            drawn.append(svg.line(x, rows[name] - 5, x, rows[name] + BAR, css="axis"))
    drawn.append(axis(len(streams) * ROW + 2, total))
    return svg.picture(len(streams) * ROW + 26, "Frames of one hyperperiod", drawn)


def _block(
    name: str | None, number: int | None, start: float, end: float, missed: bool, y: float, height: float, fill: str,
    total: float,
) -> str:  # fmt: skip
    x, width = place(start, total), max(place(end, total) - place(start, total), 1.0)
    what = "waking up" if name is None else f"{name}, frame {number}{', behind its deadline' if missed else ''}"
    return svg.rect(x, y, width, height, fill, f"{what}: {si(start, 's')} to {si(end, 's')}")
