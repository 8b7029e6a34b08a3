"""The MAC waterfall: from every multiply-accumulate slot of the run to the useful ones, a loss per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from archsim.report.charts.lanes import BarLanes
from archsim.report.kit import svg
from archsim.report.kit.causes import cause, in_order
from archsim.report.kit.number_format import count, percent
from archsim.report.kit.svg import DrawingFrame

ROW, BAR = 26.0, 18.0
LEFT, RIGHT = 190.0, 830.0


def waterfall(mac_breakdown: Mapping[str, int], cycles_total: int, frame: DrawingFrame = svg.WIDE) -> str:
    """``mac_breakdown``: cause -> slots, summing to cycles_total x peak; causes of zero slots have no row."""
    slots = sum(mac_breakdown.values())
    lanes = BarLanes.of(frame, LEFT, RIGHT, ROW, BAR)
    rows = [_Row("peak", "#5F6873", 0, slots, "every slot of every cycle")]
    level = slots
    for key in [key for key in in_order([*mac_breakdown]) if key != "useful" and mac_breakdown[key]]:
        level -= mac_breakdown[key]
        rows.append(_Row(cause(key).label, cause(key).colour, level, mac_breakdown[key], cause(key).meaning))
    useful = cause("useful")
    rows.append(_Row(useful.label, useful.colour, 0, mac_breakdown.get("useful", 0), useful.meaning))
    parts = [_head(lanes)]
    for index, row in enumerate(rows, start=1):
        parts += [_link(lanes, index, rows[index - 2], slots)] if index > 1 and not frame.is_narrow else []
        parts.append(_drawn(lanes, index, row, slots, cycles_total))
    return lanes.picture(len(rows) + 1, "MAC slots by cause", parts)


class _Row(NamedTuple):
    """``size`` slots from ``start`` on."""

    name: str
    colour: str
    start: int
    size: int
    meaning: str


def _head(lanes: BarLanes) -> str:
    if lanes.frame.is_narrow:
        heads = "share, cycles' worth"
        return lanes.name(0, "MAC slots", 28, heads, "t dim") + lanes.note(0, heads, 0, css="t dim")
    return (
        lanes.name(0, "MAC slots", 28, css="t dim")
        + lanes.note(0, "share", RIGHT + 80, "end", "t dim")
        + lanes.note(0, "cycles' worth", RIGHT + 182, "end", "t dim")
        + lanes.note(0, "slots", svg.WIDTH, "end", "t dim")
    )


def _link(lanes: BarLanes, index: int, above: _Row, slots: int) -> str:
    """From where the row above begins down to this row, which ends there."""
    x = _x(lanes, above.start if index > 2 else slots, slots)
    return svg.line(x, lanes.top(index - 1) + lanes.bar, x, lanes.top(index) + 4, css="link")


def _drawn(lanes: BarLanes, index: int, row: _Row, slots: int, cycles: int) -> str:
    begin = _x(lanes, row.start, slots)
    width = max(_x(lanes, row.start + row.size, slots) - begin, 1.0)
    share, worth = percent(row.size, slots), count(round(row.size * cycles / slots) if slots else 0)
    tip = f"{row.name}: {count(row.size)} slots, {share} - {row.meaning}"
    begin = min(begin, lanes.right - width)
    bar = svg.rect(begin, lanes.top(index), width, lanes.bar, row.colour, lanes.frame.tip(tip))
    if lanes.frame.is_narrow:
        figures = f"{share}, {worth}"
        return lanes.name(index, row.name, 28, figures) + bar + lanes.note(index, figures, 0)
    return (
        lanes.name(index, row.name, 28)
        + bar
        + lanes.note(index, share, RIGHT + 80, "end")
        + lanes.note(index, worth, RIGHT + 182, "end")
        + lanes.note(index, count(row.size), svg.WIDTH, "end", "t num dim")
    )


def _x(lanes: BarLanes, value: int, slots: int) -> float:
    return lanes.left + (lanes.right - lanes.left) * value / slots if slots else lanes.left
