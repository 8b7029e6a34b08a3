"""Plain horizontal bars in one colour, longest first: energy and area by part."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.report.charts.lanes import BarLanes
from archsim.report.kit import svg
from archsim.report.kit.number_format import percent, si
from archsim.report.kit.svg import DrawingFrame

ROW, BAR = 22.0, 15.0
HALF = 548.0  # half a page: two of them stand side by side
LEFT, RIGHT = 146.0, 388.0


def parts(values: Mapping[str, float], unit: str, colour: str, description: str, frame: DrawingFrame = svg.WIDE) -> str:
    """``values``: part -> amount in ``unit`` ('J', 'mm2'). Parts of zero are left out."""
    present = sorted(((value, name) for name, value in values.items() if value), key=lambda row: (-row[0], row[1]))
    whole, most = sum(values.values()), max((value for value, _ in present), default=1.0)
    frame = frame if frame.is_narrow else frame._replace(width=HALF)
    lanes = BarLanes.of(frame, LEFT, RIGHT, ROW, BAR)
    drawn = []
    for index, (value, name) in enumerate(present):
        amount = si(value, unit) if unit != "mm2" else f"{value:.4g} mm\N{SUPERSCRIPT TWO}"
        share, width = percent(value, whole), max((lanes.right - lanes.left) * value / most, 1.0)
        both = f"{amount}, {share}"
        drawn.append(lanes.name(index, name, 19, both))
        drawn.append(svg.rect(lanes.left, lanes.top(index), width, BAR, colour, frame.tip(f"{name}: {amount}")))
        if frame.is_narrow:
            drawn.append(lanes.note(index, both, 0))
            continue
        drawn.append(lanes.note(index, amount, RIGHT + 78, "end"))
        drawn.append(lanes.note(index, share, HALF, "end", "t num dim"))
    return lanes.picture(max(len(present), 1), description, drawn)
