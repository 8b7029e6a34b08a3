"""How many fell into each of the ranges, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.report.charts.lanes import BarLanes
from archsim.report.kit import svg
from archsim.report.kit.number_format import count, percent
from archsim.report.kit.svg import DrawingFrame

ROW, BAR = 20.0, 14.0
LEFT, RIGHT = 170.0, 900.0
COLOUR = "#0072B2"


def histogram(rows: Sequence[tuple[str, int]], description: str, frame: DrawingFrame = svg.WIDE) -> str:
    """``rows``: a range in words, and how many are in it."""
    whole, most = sum(number for _, number in rows), max((number for _, number in rows), default=1)
    lanes = BarLanes.of(frame, LEFT, RIGHT, ROW, BAR)
    drawn = []
    for index, (words, number) in enumerate(rows):
        width, share = max((lanes.right - lanes.left) * number / most, 1.0), percent(number, whole)
        tip = frame.tip(f"{words}: {number:,}")
        drawn.append(lanes.name(index, words, 28, css="t num"))
        drawn.append(svg.rect(lanes.left, lanes.top(index), width, BAR, COLOUR, tip))
        if frame.is_narrow:
            drawn.append(lanes.note(index, f"{count(number)}, {share}", 0))
            continue
        drawn.append(lanes.note(index, count(number), RIGHT + 96, "end"))
        drawn.append(lanes.note(index, share, RIGHT + 172, "end", "t num dim"))
    return lanes.picture(max(len(rows), 1), description, drawn)
