"""Points of a sweep in two of its objectives: the best of these two joined, those that miss a constraint hollow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archsim.report.charts.plot import PlotBox, PlotScale
from archsim.report.kit import svg
from archsim.report.kit.quantity import shown
from archsim.report.kit.svg import DrawingFrame

LEFT, RIGHT, TOP, BOTTOM = 86.0, 1090.0, 16.0, 352.0

ScatterGoal = Mapping[str, Any]  # key, largest


class _Dot(NamedTuple):
    """A point in two of its goals."""

    x: float
    y: float
    point: Mapping[str, Any]


def scatter(points: Sequence[Mapping[str, Any]], x: ScatterGoal, y: ScatterGoal, frame: DrawingFrame = svg.WIDE) -> str:
    """The chart of ``points`` (``goals``, ``shown``, ``meets``, ``front``) over two of their goals, '' without any that
    has both figures; joined are those that no other beats in both."""
    dots = [_Dot(p["goals"][x["key"]], p["goals"][y["key"]], p) for p in points]
    dots = [dot for dot in dots if dot.x is not None and dot.y is not None]
    if not dots:
        return ""
    box = PlotBox(frame, LEFT, RIGHT, TOP, BOTTOM).fitted()
    across = PlotScale([dot.x for dot in dots], box.left, box.right)
    up = PlotScale([dot.y for dot in dots], box.bottom, box.top)
    drawn = [box.across(across.ticks(), across.at, lambda value: shown(x["key"], value))]
    drawn.append(box.up(up.ticks(), up.at, lambda value: shown(y["key"], value)))
    path = " ".join(f"{across.at(dot.x):.1f},{up.at(dot.y):.1f}" for dot in _joined(dots, x["largest"], y["largest"]))
    drawn.append(svg.tag("polyline", points=path, fill="none", stroke="#B4BDC8", stroke_width=1.5))
    drawn += [_drawn(dot, across.at(dot.x), up.at(dot.y), frame) for dot in sorted(dots, key=_on_top)]
    drawn.append(box.names(x["key"], y["key"]))
    return svg.picture(box.height, f"Points of the sweep: {y['key']} against {x['key']}", drawn, frame)


def _on_top(dot: _Dot) -> tuple[bool, bool]:
    return dot.point["front"], dot.point["meets"]


def _joined(dots: Sequence[_Dot], x_largest: bool, y_largest: bool) -> list[_Dot]:
    """The points that meet all constraints and that no other beats in both, from the best in x on."""
    found: list[_Dot] = []
    ordered = sorted(dots, key=lambda dot: (-dot.x if x_largest else dot.x, -dot.y if y_largest else dot.y))
    for dot in ordered:
        if dot.point["meets"] and (not found or (dot.y > found[-1].y if y_largest else dot.y < found[-1].y)):
            found.append(dot)
    return found


def _drawn(dot: _Dot, x: float, y: float, frame: DrawingFrame) -> str:
    tip = f"point {dot.point['point']}: " + ", ".join(f"{key} {value}" for key, value in dot.point["shown"].items())
    if not dot.point["meets"]:
        missed = svg.title(frame.tip(f"{tip}; misses a constraint"))
        return svg.tag("circle", missed, cx=x, cy=y, r=4.0, fill="none", stroke="#B4BDC8")
    fill, radius = ("#0B6E99", 5.5) if dot.point["front"] else ("#8A94A0", 3.5)
    return svg.tag("circle", svg.title(frame.tip(tip)), cx=x, cy=y, r=radius, fill=fill, class_="dot")
