"""A tornado: how far an objective moves along each axis of a sweep around its best point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.charts.lanes import BarLanes
from archsim.report.kit import svg
from archsim.report.kit.svg import DrawingFrame

LEFT, RIGHT, ROW, BAR = 220.0, 900.0, 30.0, 20.0


def tornado(rows: Sequence[Mapping[str, Any]], goal: str, frame: DrawingFrame = svg.WIDE) -> str:
    """The chart of ``rows`` (axis, low, high, at_low, at_high, swing), '' without any."""
    if not rows:
        return ""
    most = max(row["high"] for row in rows)
    lanes = BarLanes.of(frame, LEFT, RIGHT, ROW, BAR)
    drawn = []
    for at, row in enumerate(rows):
        begin, end = (lanes.left + (lanes.right - lanes.left) * row[key] / most for key in ("low", "high"))
        tip = f"{row['axis']}: {goal} {row['low']:.4g} at {row['at_low']}, {row['high']:.4g} at {row['at_high']}"
        note = f"{row['swing']:.3g} x  ({row['at_low']} to {row['at_high']})"
        width = max(1.0, end - begin)
        drawn.append(lanes.name(at, row["axis"], 28, note))
        drawn.append(svg.rect(min(begin, lanes.right - width), lanes.top(at), width, BAR, "#0B6E99", frame.tip(tip)))
        drawn.append(lanes.note(at, note, end + 8))
    return lanes.picture(len(rows), f"How {goal} changes along each axis", drawn)
