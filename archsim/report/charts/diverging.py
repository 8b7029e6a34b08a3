"""Differences left and right of a line: what was saved, what was added, by cause or part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from archsim.report.charts.lanes import BarLanes
from archsim.report.kit import svg
from archsim.report.kit.svg import DrawingFrame

ROW, BAR = 24.0, 16.0
LEFT, RIGHT = 250.0, 900.0
NOTE = 96.0  # room for the figures beside the longest bars


class ChangeBar(NamedTuple):
    """One row: ``amount`` < 0 goes left; ``note`` beside the bar, ``tip`` on it."""

    name: str
    amount: float
    colour: str
    note: str
    tip: str


def diverging(rows: Sequence[ChangeBar], description: str, frame: DrawingFrame = svg.WIDE) -> str:
    """The chart, '' without a difference."""
    if not any(row.amount for row in rows):
        return ""
    lanes = BarLanes.of(frame, LEFT, RIGHT, ROW, BAR)
    low = min(0.0, *(row.amount for row in rows))
    high = max(0.0, *(row.amount for row in rows))
    beside = 0.0 if frame.is_narrow else NOTE
    left, right = lanes.left + (beside if low else 0), lanes.right - (beside if high else 0)
    scale = (right - left) / (high - low)
    zero = left - low * scale
    drawn = []
    for index, row in enumerate(rows):
        less, width = row.amount < 0, max(abs(row.amount) * scale, 1.0)
        begin = zero - width if less else zero
        drawn.append(lanes.name(index, row.name, 34, row.note))
        drawn.append(svg.rect(begin, lanes.top(index), width, BAR, row.colour, frame.tip(row.tip)))
        drawn.append(lanes.note(index, row.note, begin - 6 if less else zero + width + 6, "end" if less else "start"))
    drawn += [svg.line(zero, lanes.top(at) - 4, zero, lanes.top(at) + BAR + 4, css="axis") for at in range(len(rows))]
    return lanes.picture(len(rows), description, drawn)
