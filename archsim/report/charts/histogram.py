"""How many fell into each of the ranges, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.report import svg
from archsim.report.format import count, percent

ROW, BAR = 20.0, 14.0
LEFT, RIGHT = 170.0, 900.0
COLOUR = "#0072B2"


def histogram(rows: Sequence[tuple[str, int]], description: str) -> str:
    """``rows``: a range in words, and how many are in it."""
    whole, most = sum(number for _, number in rows), max((number for _, number in rows), default=1)
    drawn = []
    for index, (words, number) in enumerate(rows):
        y = index * ROW
        drawn.append(svg.text(LEFT - 10, y + BAR - 2, words, "t num", "end"))
        drawn.append(svg.rect(LEFT, y, max((RIGHT - LEFT) * number / most, 1.0), BAR, COLOUR, f"{words}: {number:,}"))
        drawn.append(svg.text(RIGHT + 96, y + BAR - 2, count(number), "t num", "end"))
        drawn.append(svg.text(RIGHT + 172, y + BAR - 2, percent(number, whole), "t num dim", "end"))
    return svg.picture(max(len(rows), 1) * ROW + 4, description, drawn)
