"""A tornado: how far an objective moves along each axis of a sweep around its best point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report import svg

LEFT, RIGHT, ROW = 220.0, 900.0, 30.0


def tornado(rows: Sequence[Mapping[str, Any]], goal: str) -> str:
    """The chart of ``rows`` (axis, low, high, at_low, at_high, swing), '' without any."""
    if not rows:
        return ""
    most = max(row["high"] for row in rows)
    drawn = []
    for at, row in enumerate(rows):
        y = 8 + at * ROW
        begin, end = (LEFT + (RIGHT - LEFT) * row[key] / most for key in ("low", "high"))
        tip = f"{row['axis']}: {goal} {row['low']:.4g} at {row['at_low']}, {row['high']:.4g} at {row['at_high']}"
        drawn.append(svg.text(LEFT - 10, y + 15, row["axis"], "t", "end"))
        drawn.append(svg.rect(begin, y, max(1.0, end - begin), ROW - 10, "#0B6E99", tip))
        drawn.append(svg.text(end + 8, y + 15, f"{row['swing']:.3g} x  ({row['at_low']} to {row['at_high']})", "t num"))
    return svg.picture(16 + len(rows) * ROW, f"How {goal} changes along each axis", drawn)
