"""Horizontal stacked bars, one row per unit, layer or part, one segment per cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archsim.report.charts.lanes import BarLanes
from archsim.report.kit import svg
from archsim.report.kit.causes import cause, in_order, label
from archsim.report.kit.number_format import count, percent
from archsim.report.kit.svg import DrawingFrame

ROW, BAR = 22.0, 15.0
LEFT, RIGHT = 190.0, 900.0


@dataclass(frozen=True, slots=True)
class StackedBar:
    """One row: ``parts`` by cause in cycles (or any unit), ``note`` to the right of it."""

    name: str
    parts: Mapping[str, int]
    note: str = ""


def stacked(
    bars: Sequence[StackedBar], scale: int, description: str, unit: str = "cycles", frame: DrawingFrame = svg.WIDE
) -> str:
    """Rows of ``bars``; a bar of ``scale`` units fills the width. Under half a pixel nothing is drawn."""
    lanes = BarLanes.of(frame, LEFT, RIGHT, ROW, BAR)
    parts = [_row(lanes, index, bar, scale, unit) for index, bar in enumerate(bars)]
    return lanes.picture(max(len(bars), 1), description, parts)


def legend(keys: Sequence[str]) -> list[tuple[str, str, str]]:
    """(colour, label, meaning) of the causes present, each once, in their fixed order, for the page's legend."""
    known = dict.fromkeys(cause(key) for key in in_order(sorted(set(keys))))
    return [(item.colour, item.label, item.meaning) for item in known]


def _row(lanes: BarLanes, index: int, bar: StackedBar, scale: int, unit: str) -> str:
    whole, length, y = sum(bar.parts.values()), lanes.right - lanes.left, lanes.top(index)
    drawn = [lanes.name(index, bar.name, 28, bar.note)]
    drawn.append(svg.rect(lanes.left, y, length, BAR, "#F3F5F7"))
    x = lanes.left
    for key in in_order([*bar.parts]):
        width = length * bar.parts[key] / scale if scale else 0.0
        if width >= 0.5:
            tip = f"{bar.name}: {label(key)} {count(bar.parts[key])} {unit}, {percent(bar.parts[key], whole)}"
            drawn.append(svg.rect(x, y, width, BAR, cause(key).colour, lanes.frame.tip(tip)))
        x += width
    drawn.append(lanes.note(index, bar.note, lanes.right + 12))
    return "".join(drawn)
