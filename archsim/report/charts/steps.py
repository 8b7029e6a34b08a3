"""What steps take against the rows before them: dots that were run, on the lines by which the others are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.charts.plot import PlotBox
from archsim.report.kit import svg
from archsim.report.kit.number_format import count, si
from archsim.report.kit.svg import DrawingFrame

LEFT, RIGHT, TOP, BOTTOM = 86.0, 1090.0, 16.0, 272.0
COLOUR = "#0072B2"


def steps(found: Sequence[Mapping[str, Any]], frame: DrawingFrame = svg.WIDE) -> str:
    """``found``: steps that were run, each with ``past`` and ``latency_s``."""
    box = PlotBox(frame, LEFT, RIGHT, TOP, BOTTOM).fitted()
    wide: float = max(1.0, 1.05 * max(step["past"] for step in found))
    high: float = 1.1 * max(step["latency_s"] for step in found)

    def x(past: float) -> float:
        return box.left + (box.right - box.left) * past / wide

    def y(latency_s: float) -> float:
        return box.bottom - (box.bottom - box.top) * latency_s / high

    drawn = [svg.line(box.left, box.bottom, box.right, box.bottom, css="axis")]
    drawn.append(box.across(svg.ticks(wide, 10), x, lambda past: count(round(past))))
    drawn.append(box.up(svg.ticks(high, 5), y, lambda seconds: si(seconds, "s", 3)))
    places = [(x(step["past"]), y(step["latency_s"])) for step in found]
    line = " ".join(f"{across:.1f},{up:.1f}" for across, up in places)
    drawn.append(svg.tag("polyline", points=line, fill="none", stroke=COLOUR, stroke_width=1.8))
    for step, (across, up) in zip(found, places, strict=True):
        tip = f"step {count(step['step'])}, behind {count(step['past'])} rows: {si(step['latency_s'], 's')}"
        drawn.append(svg.tag("circle", svg.title(frame.tip(tip)), cx=across, cy=up, r=4.0, fill=COLOUR))
    drawn.append(box.names("rows before the step", "time of a step"))
    return svg.picture(box.height, "Time of a step against the rows before it", drawn, frame)
