"""Horizontal stacked bars, one row per unit, layer or part, one segment per cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archsim.report import svg
from archsim.report.causes import cause, in_order, label
from archsim.report.format import count, percent, shorten

ROW, BAR = 22.0, 15.0
LEFT, RIGHT = 190.0, 900.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: ``parts`` by cause in cycles (or any unit), ``note`` to the right of it."""

    name: str
    parts: Mapping[str, int]
    note: str = ""


def stacked(bars: Sequence[Bar], scale: int, description: str, unit: str = "cycles") -> str:
    """Rows of ``bars``; a bar of ``scale`` units fills the width. Under half a pixel nothing is drawn."""
    parts = [_row(bar, index * ROW, scale, unit) for index, bar in enumerate(bars)]
    return svg.picture(max(len(bars), 1) * ROW + 4, description, parts)


def legend(keys: Sequence[str]) -> list[tuple[str, str, str]]:
    """(colour, label, meaning) of the causes present, each once, in their fixed order, for the page's legend."""
    known = dict.fromkeys(cause(key) for key in in_order(sorted(set(keys))))
    return [(item.colour, item.label, item.meaning) for item in known]


def _row(bar: Bar, y: float, scale: int, unit: str) -> str:
    whole = sum(bar.parts.values())
    drawn = [svg.text(LEFT - 12, y + BAR - 3, shorten(bar.name, 28), "t", "end")]
    drawn.append(svg.rect(LEFT, y, RIGHT - LEFT, BAR, "#F3F5F7"))
    x = LEFT
    for key in in_order([*bar.parts]):
        width = (RIGHT - LEFT) * bar.parts[key] / scale if scale else 0.0
        if width >= 0.5:
            tip = f"{bar.name}: {label(key)} {count(bar.parts[key])} {unit}, {percent(bar.parts[key], whole)}"
            drawn.append(svg.rect(x, y, width, BAR, cause(key).colour, tip))
        x += width
    drawn.append(svg.text(RIGHT + 12, y + BAR - 3, bar.note, "t num"))
    return "".join(drawn)
