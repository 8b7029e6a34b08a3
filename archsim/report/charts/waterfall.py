"""The MAC waterfall: from every multiply-accumulate slot of the run to the useful ones, a loss per row."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.report import svg
from archsim.report.causes import cause, in_order
from archsim.report.format import count, percent

ROW = 26.0
LEFT, RIGHT = 190.0, 830.0


def waterfall(mac_breakdown: Mapping[str, int], cycles_total: int) -> str:
    """``mac_breakdown``: cause -> slots, summing to cycles_total x peak; causes of zero slots have no row."""
    slots = sum(mac_breakdown.values())
    losses = [key for key in in_order([*mac_breakdown]) if key != "useful" and mac_breakdown[key]]
    parts, y = [_head()], 26.0
    parts.append(_row(y, "peak", "#5F6873", 0, slots, slots, cycles_total, "every slot of every cycle"))
    level = slots
    for key in losses:
        y += ROW
        parts.append(svg.line(_x(level, slots), y - 8, _x(level, slots), y + 4, css="link"))
        level -= mac_breakdown[key]
        known = cause(key)
        parts.append(_row(y, known.label, known.colour, level, mac_breakdown[key], slots, cycles_total, known.meaning))
    y += ROW
    known = cause("useful")
    parts.append(svg.line(_x(level, slots), y - 8, _x(level, slots), y + 4, css="link"))
    useful = mac_breakdown.get("useful", 0)
    parts.append(_row(y, known.label, known.colour, 0, useful, slots, cycles_total, known.meaning))
    return svg.picture(y + ROW, "MAC slots by cause", parts)


def _head() -> str:
    return (
        svg.text(LEFT - 12, 14, "MAC slots", "t dim", "end")
        + svg.text(RIGHT + 80, 14, "share", "t dim", "end")
        + svg.text(RIGHT + 182, 14, "cycles' worth", "t dim", "end")
        + svg.text(svg.WIDTH, 14, "slots", "t dim", "end")
    )


def _row(y: float, name: str, colour: str, start: int, size: int, slots: int, cycles: int, meaning: str) -> str:
    x, width = _x(start, slots), max(_x(start + size, slots) - _x(start, slots), 1.0)
    tip = f"{name}: {count(size)} slots, {percent(size, slots)} - {meaning}"
    middle = y + 14
    return (
        svg.text(LEFT - 12, middle, name, "t", "end")
        + svg.rect(x, y, width, ROW - 8, colour, tip)
        + svg.text(RIGHT + 80, middle, percent(size, slots), "t num", "end")
        + svg.text(RIGHT + 182, middle, count(round(size * cycles / slots) if slots else 0), "t num", "end")
        + svg.text(svg.WIDTH, middle, count(size), "t num dim", "end")
    )


def _x(value: int, slots: int) -> float:
    return LEFT + (RIGHT - LEFT) * value / slots if slots else LEFT
