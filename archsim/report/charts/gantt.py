"""The timeline of one layer: a row per unit, a block per stretch of work or waiting, coloured by cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.kit import svg
from archsim.report.kit.causes import cause, label
from archsim.report.kit.number_format import count

LEFT, RIGHT = 120.0, 1110.0
ROW, BAR = 24.0, 18.0


def gantt(window: Mapping[str, Any]) -> str:
    """``window``: an entry of ``details.timeline``, with stretches [start, end, cause, state] per unit."""
    start, end = window["cycles_start"], window["cycles_end"]
    drawn = []
    for index, (unit, segments) in enumerate(window["units"].items()):
        y = index * ROW
        drawn.append(svg.text(LEFT - 10, y + BAR - 5, unit, "t", "end"))
        drawn.append(svg.rect(LEFT, y, RIGHT - LEFT, BAR, "#F3F5F7"))
        drawn.extend(_block(segment, y, start, end) for segment in segments)
    y = len(window["units"]) * ROW
    drawn.append(_axis(y, start, end))
    return svg.picture(y + 24, f"Timeline of {window['layer']}", drawn)


def _block(segment: Sequence[Any], y: float, start: int, end: int) -> str:
    first, last, key, state = segment
    x, width = _x(first, start, end), max(_x(last, start, end) - _x(first, start, end), 0.5)
    whose = " (another layer)" if state == "other" else ""
    tip = f"{label(key)}{whose}: cycles {count(first)} to {count(last)}"
    height = BAR if state != "wait" else BAR / 3
    return svg.rect(x, y + (BAR - height) / 2, width, height, cause(key).colour, tip, class_=f"seg {state}")


def _axis(y: float, start: int, end: int) -> str:
    drawn = [svg.line(LEFT, y, RIGHT, y, css="axis")]
    for tick in svg.ticks(end, 8, start):
        x = _x(tick, start, end)
        drawn.append(svg.line(x, y, x, y + 4, css="axis"))
        drawn.append(svg.text(x, y + 18, count(round(tick)), "t num dim", "middle"))
    return "".join(drawn)


def _x(cycle: float, start: int, end: int) -> float:
    return LEFT + (RIGHT - LEFT) * (cycle - start) / (end - start) if end > start else LEFT
