"""Differences left and right of a line: what was saved, what was added, by cause or part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from archsim.report import svg
from archsim.report.format import shorten

ROW, BAR = 24.0, 16.0
LEFT, RIGHT = 250.0, 900.0
NOTE = 96.0  # room for the figures beside the longest bars


class Change(NamedTuple):
    """One row: ``amount`` < 0 goes left; ``note`` beside the bar, ``tip`` on it."""

    name: str
    amount: float
    colour: str
    note: str
    tip: str


def diverging(rows: Sequence[Change], description: str) -> str:
    """The chart, '' without a difference."""
    if not any(row.amount for row in rows):
        return ""
    low = min(0.0, *(row.amount for row in rows))
    high = max(0.0, *(row.amount for row in rows))
    left, right = LEFT + (NOTE if low else 0), RIGHT - (NOTE if high else 0)
    scale = (right - left) / (high - low)
    zero = left - low * scale
    drawn = []
    for index, row in enumerate(rows):
        y, width = index * ROW, max(abs(row.amount) * scale, 1.0)
        drawn.append(svg.text(LEFT - 12, y + BAR - 3, shorten(row.name, 34), "t", "end"))
        drawn.append(svg.rect(zero - width if row.amount < 0 else zero, y, width, BAR, row.colour, row.tip))
        beside = zero - width - 6 if row.amount < 0 else zero + width + 6
        drawn.append(svg.text(beside, y + BAR - 3, row.note, "t num", "end" if row.amount < 0 else "start"))
    drawn.append(svg.line(zero, -4, zero, len(rows) * ROW, css="axis"))
    return svg.picture(len(rows) * ROW + 4, description, drawn)
