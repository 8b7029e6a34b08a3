"""The run from start to end: each layer's span, stacked where layers overlap, over the power of the chip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report import svg
from archsim.report.causes import bound_colour, bound_label
from archsim.report.charts.time_axis import LEFT, RIGHT, axis, place
from archsim.report.format import count, percent, shorten, si

LANE, LANES = 20.0, 6
POWER = 90.0


def overview(summary: Mapping[str, Any]) -> str:
    """Layers by lane (first free one, at most six), then power per window where the run recorded it."""
    total = summary["cycles_total"]
    shown = [row for row in summary["layers"] if row["cycles_total"] > 0 and not row["name"].startswith("_")]
    lanes = _lanes(shown)
    rows = min(len(lanes), LANES)
    drawn = [svg.text(LEFT - 10, 13, "layers", "t dim", "end")]
    for index, lane in enumerate(lanes):
        drawn.extend(_block(layer, min(index, LANES - 1) * LANE, total) for layer in lane)
    y = max(rows, 1) * LANE + 8
    trace = summary.get("details", {}).get("power_trace", [])
    if trace:
        drawn.append(_power(trace, y, summary["latency_s"], summary["power_avg_w"]))
        y += POWER + 24
    drawn.append(axis(y, summary["latency_s"]))
    return svg.picture(y + 24, "The run from start to end", drawn)


def _lanes(layers: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    lanes: list[list[Mapping[str, Any]]] = []
    for layer in sorted(layers, key=lambda row: (row["cycles_start"], row["cycles_end"], row["name"])):
        free = next((lane for lane in lanes if lane[-1]["cycles_end"] <= layer["cycles_start"]), None)
        if free is None:
            lanes.append([layer])
        else:
            free.append(layer)
    return lanes


def _block(layer: Mapping[str, Any], y: float, total: int) -> str:
    x, end = place(layer["cycles_start"], total), place(layer["cycles_end"], total)
    width = max(end - x - 0.6, 0.6)
    tip = (
        f"{layer['name']} ({layer['op']}): "
        f"cycles {count(layer['cycles_start'])} to {count(layer['cycles_end'])}, "
        f"{percent(layer['cycles_critical'], total)} of the time, bound by {bound_label(layer['bound_by'])}"
    )
    block = svg.rect(x, y, width, LANE - 4, bound_colour(layer["bound_by"]), tip)
    room = int(width / 7)
    return block + (svg.text(x + 4, y + 12, shorten(layer["name"], room), "t small inverse") if room >= 5 else "")


def _power(trace: Sequence[Sequence[float]], y: float, latency_s: float, average_w: float) -> str:
    y += 16
    top = max(average_w, *(watts for _, watts in trace)) or 1.0
    step = latency_s / len(trace) if len(trace) == 1 else trace[1][0] - trace[0][0]
    path = [f"M {LEFT:.1f} {y + POWER:.1f}"]
    for time_s, watts in trace:
        level = y + POWER - (POWER - 12) * watts / top
        start, end = place(time_s, latency_s), place(min(time_s + step, latency_s), latency_s)
        path.append(f"L {start:.1f} {level:.1f} L {end:.1f} {level:.1f}")
    path.append(f"L {place(min(trace[-1][0] + step, latency_s), latency_s):.1f} {y + POWER:.1f} Z")
    mean = y + POWER - (POWER - 12) * average_w / top
    return (
        svg.tag("path", d=" ".join(path), class_="area")
        + svg.line(LEFT, mean, RIGHT, mean, css="mean")
        + svg.text(LEFT - 10, y + 20, si(top, "W", 3), "t num dim", "end")
        + svg.text(LEFT - 10, y + POWER, "power", "t dim", "end")
        + svg.text(RIGHT, y + 4, f"dashed: average {si(average_w, 'W')}", "t dim", "end")
    )
