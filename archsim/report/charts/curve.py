"""Latency against offered load: mean and tail, the load from which the network is not stable, what bounds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report import svg
from archsim.report.format import number

HEIGHT = 360.0
LEFT, RIGHT, TOP, BOTTOM = 86.0, 1090.0, 16.0, 312.0
STABLE, UNSTABLE, IDEAL = "#0072B2", "#D55E00", "#5F6873"


def curve(found: Mapping[str, Any]) -> str:
    """``found``: a result of ``archsim noc`` with points."""
    stable = [point for point in found["points"] if point["stable"]]
    wide = 1.05 * max(found["ideal_rate"], *(point["rate"] for point in found["points"]))
    high = 1.08 * max([found["zero_load_cycles"], *(point["latency_cycles"]["p99"] for point in stable)])

    def at(rate: float, cycles: float) -> tuple[float, float]:
        return LEFT + (RIGHT - LEFT) * rate / wide, BOTTOM - (BOTTOM - TOP) * cycles / high

    drawn = [_axes(wide, high)]
    drawn.append(_upright(at(found["ideal_rate"], 0)[0], IDEAL, "the busiest link is full", ""))
    drawn += [
        _upright(at(point["rate"], 0)[0], UNSTABLE, f"{point['rate']:g}: not stable", "5 4")
        for point in found["points"]
        if not point["stable"]
    ]
    y = at(0, found["zero_load_cycles"])[1]
    drawn += [svg.line(LEFT, y, RIGHT, y, css="axis"), svg.text(LEFT + 6, y - 5, "lone packets", "t dim")]
    drawn += [_line(stable, key, dash, at) for key, dash in (("mean", ""), ("p99", "2 4"))]
    drawn += [_dot(point, *at(point["rate"], point["latency_cycles"]["mean"])) for point in stable]
    drawn.append(svg.text((LEFT + RIGHT) / 2, HEIGHT - 6, "offered load, flits per node and cycle", "t dim", "middle"))
    return svg.picture(HEIGHT, "Latency of a packet in cycles against offered load", drawn)


def _axes(wide: float, high: float) -> str:
    drawn = [svg.line(LEFT, BOTTOM, RIGHT, BOTTOM, css="axis")]
    for tick in svg.ticks(wide, 10):
        x = LEFT + (RIGHT - LEFT) * tick / wide
        drawn.append(svg.text(x, BOTTOM + 18, f"{tick:g}", "t num dim", "middle"))
    for tick in svg.ticks(high, 6):
        y = BOTTOM - (BOTTOM - TOP) * tick / high
        drawn += [svg.line(LEFT, y, RIGHT, y), svg.text(LEFT - 8, y + 4, number(tick), "t num dim", "end")]
    return "".join(drawn)


def _upright(x: float, colour: str, tip: str, dash: str) -> str:
    dashed = {"stroke_dasharray": dash} if dash else {}
    return svg.tag("path", svg.title(tip), d=f"M {x:.1f} {TOP} V {BOTTOM}", stroke=colour, fill="none", **dashed)


def _line(points: Sequence[Mapping[str, Any]], key: str, dash: str, at: Any) -> str:
    if not points:
        return ""
    places = " ".join("{:.1f},{:.1f}".format(*at(point["rate"], point["latency_cycles"][key])) for point in points)
    dashed = {"stroke_dasharray": dash} if dash else {}
    return svg.tag("polyline", points=places, fill="none", stroke=STABLE, stroke_width=1.8, **dashed)


def _dot(point: Mapping[str, Any], x: float, y: float) -> str:
    latency = point["latency_cycles"]
    tip = f"{point['rate']:g}: mean {latency['mean']:.1f}, p99 {latency['p99']}, most {latency['max']} cycles"
    return svg.tag("circle", svg.title(tip), cx=x, cy=y, r=4.0, fill=STABLE)
