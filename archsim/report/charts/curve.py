"""Latency against offered load: mean and tail, the load from which the network is not stable, what bounds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.charts.plot import PlotBox
from archsim.report.kit import svg
from archsim.report.kit.number_format import number
from archsim.report.kit.svg import DrawingFrame

LEFT, RIGHT, TOP, BOTTOM = 86.0, 1090.0, 16.0, 312.0
STABLE, UNSTABLE, IDEAL = "#0072B2", "#D55E00", "#5F6873"


def curve(found: Mapping[str, Any], frame: DrawingFrame = svg.WIDE) -> str:
    """``found``: a result of ``archsim noc`` with points."""
    stable = [point for point in found["points"] if point["stable"]]
    wide = 1.05 * max(found["ideal_rate"], *(point["rate"] for point in found["points"]))
    high = 1.08 * max([found["zero_load_cycles"], *(point["latency_cycles"]["p99"] for point in stable)])

    box = PlotBox(frame, LEFT, RIGHT, TOP, BOTTOM).fitted()

    def at(rate: float, cycles: float) -> tuple[float, float]:
        return (
            box.left + (box.right - box.left) * rate / wide,
            box.bottom - (box.bottom - box.top) * cycles / high,
        )

    drawn = [svg.line(box.left, box.bottom, box.right, box.bottom, css="axis")]
    drawn.append(box.across(svg.ticks(wide, 10), lambda rate: at(rate, 0)[0], lambda rate: f"{rate:g}"))
    drawn.append(box.up(svg.ticks(high, 6), lambda cycles: at(0, cycles)[1], number))
    drawn.append(_upright(box, at(found["ideal_rate"], 0)[0], IDEAL, "the busiest link is full", ""))
    drawn += [
        _upright(box, at(point["rate"], 0)[0], UNSTABLE, f"{point['rate']:g}: not stable", "5 4")
        for point in found["points"]
        if not point["stable"]
    ]
    y = at(0, found["zero_load_cycles"])[1]
    drawn += [svg.line(box.left, y, box.right, y, css="axis"), svg.text(box.left + 6, y - 5, "lone packets", "t dim")]
    drawn += [_line(stable, key, dash, at) for key, dash in (("mean", ""), ("p99", "2 4"))]
    drawn += [_dot(point, *at(point["rate"], point["latency_cycles"]["mean"]), frame) for point in stable]
    drawn.append(box.names("offered load, flits per node and cycle", "cycles"))
    return svg.picture(box.height, "Latency of a packet in cycles against offered load", drawn, frame)


def _upright(box: PlotBox, x: float, colour: str, tip: str, dash: str) -> str:
    dashed = {"stroke_dasharray": dash} if dash else {}
    return svg.tag(
        "path",
        svg.title(box.frame.tip(tip)),
        d=f"M {x:.1f} {box.top} V {box.bottom}",
        stroke=colour,
        fill="none",
        **dashed,
    )


def _line(points: Sequence[Mapping[str, Any]], key: str, dash: str, at: Any) -> str:
    if not points:
        return ""
    places = " ".join("{:.1f},{:.1f}".format(*at(point["rate"], point["latency_cycles"][key])) for point in points)
    dashed = {"stroke_dasharray": dash} if dash else {}
    return svg.tag("polyline", points=places, fill="none", stroke=STABLE, stroke_width=1.8, **dashed)


def _dot(point: Mapping[str, Any], x: float, y: float, frame: DrawingFrame) -> str:
    latency = point["latency_cycles"]
    tip = f"{point['rate']:g}: mean {latency['mean']:.1f}, p99 {latency['p99']}, most {latency['max']} cycles"
    return svg.tag("circle", svg.title(frame.tip(tip)), cx=x, cy=y, r=4.0, fill=STABLE)
