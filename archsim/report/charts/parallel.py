"""Parallel coordinates: each point of the front as a line over the axes of a sweep and its objectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.kit import svg

HEIGHT = 340.0
LEFT, RIGHT, TOP, BOTTOM = 90.0, 1040.0, 34.0, 312.0
LOW, HIGH = (11, 110, 153), (224, 123, 57)  # colours of the best and the worst of the first objective
MOST_LABELS = 8

ParallelPoint = Mapping[str, Any]


def parallel(points: Sequence[ParallelPoint], axes: Sequence[str], goals: Sequence[str]) -> str:
    """The chart, '' with fewer than two points. Values of an axis stand in their order at equal distances."""
    if len(points) < 2:
        return ""
    columns = [*axes, *goals]
    places = [LEFT + (RIGHT - LEFT) * at / (len(columns) - 1) for at in range(len(columns))]
    scales = [_scale(points, name, name in axes) for name in columns]
    drawn = []
    for point in points:
        heights = [scale[_value(point, name)] for scale, name in zip(scales, columns, strict=True)]
        path = " ".join(f"{x:.1f},{_y(share):.1f}" for x, share in zip(places, heights, strict=True))
        tip = f"point {point['point']}: " + ", ".join(f"{key} {value}" for key, value in point["shown"].items())
        colour = _colour(scales[len(axes)][_value(point, goals[0])])
        drawn.append(svg.tag("polyline", svg.title(tip), points=path, fill="none", stroke=colour, stroke_width=1.6))
    for name, x, scale in zip(columns, places, scales, strict=True):
        drawn += [svg.line(x, TOP, x, BOTTOM), svg.text(x, TOP - 14, name, "t strong", "middle")]
        drawn += _labels(points, name, x, scale)
    return svg.picture(HEIGHT, "Parallel coordinates of the front", drawn)


def _value(point: ParallelPoint, name: str) -> Any:
    return point["values"].get(name, point["goals"].get(name))


def _scale(points: Sequence[ParallelPoint], name: str, is_axis: bool) -> dict[Any, float]:
    """Share of the height of each value."""
    values = {_value(point, name) for point in points}
    ordered = sorted(values, key=lambda value: (isinstance(value, str), value))
    if is_axis:
        return {value: at / max(1, len(ordered) - 1) for at, value in enumerate(ordered)}
    low, high = ordered[0], ordered[-1]
    return {value: (value - low) / ((high - low) or 1.0) for value in ordered}


def _y(share: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * share


def _labels(points: Sequence[ParallelPoint], name: str, x: float, scale: Mapping[Any, float]) -> list[str]:
    """The values of an axis if they are few; of others the ends."""
    shown = {_value(point, name): point["shown"][name] for point in points}
    ends = [value for value, share in scale.items() if share in (0.0, 1.0)]
    told = list(scale) if len(scale) <= MOST_LABELS and name in points[0]["values"] else ends
    halo: dict[str, svg.SvgAttribute] = {"paint_order": "stroke", "stroke": "#fff", "stroke_width": 3.0}
    return [svg.text(x + 6, _y(scale[value]) + 4, str(shown[value]), "t small", "start", **halo) for value in told]


def _colour(share: float) -> str:
    mixed = [round(low + (high - low) * share) for low, high in zip(LOW, HIGH, strict=True)]
    return "#" + "".join(f"{part:02X}" for part in mixed)
