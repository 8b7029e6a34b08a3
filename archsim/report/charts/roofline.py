"""The roofline (Williams, Waterman and Patterson, CACM 52(4), 2009): MAC/s against MACs per DRAM byte.

Ceilings: peak MAC/s of the arrays, and peak DRAM bandwidth x intensity. A dot is a layer; its area is the
layer's share of the critical path, its colour what bounds it. Layers without DRAM traffic stand at the right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10, sqrt
from typing import Any

from archsim.ir.result import single_layers
from archsim.report.charts.plot import PlotBox
from archsim.report.kit import svg
from archsim.report.kit.causes import bound_colour
from archsim.report.kit.number_format import percent, shorten, si
from archsim.report.kit.svg import DrawingFrame

LEFT, RIGHT, TOP, BOTTOM = 76.0, 1090.0, 16.0, 336.0
LABELLED, LETTER = 8, 6.2
LARGEST, LARGEST_NARROW = 30.0, 18.0  # radius of a layer that takes all of the time

RooflinePoint = tuple[float | None, float, Mapping[str, Any]]  # MACs per DRAM byte or None, MAC/s, layer


class _Axes:
    """Log-log coordinates."""

    def __init__(self, box: PlotBox, x_low: float, x_high: float, y_low: float, y_high: float) -> None:
        self.box = box
        self.x_low, self.x_high, self.y_low, self.y_high = x_low, x_high, y_low, y_high

    def x(self, value: float) -> float:
        share = (log10(value) - self.x_low) / (self.x_high - self.x_low)
        return self.box.left + (self.box.right - self.box.left) * min(max(share, 0.0), 1.0)

    def y(self, value: float) -> float:
        share = (log10(value) - self.y_low) / (self.y_high - self.y_low)
        return self.box.bottom - (self.box.bottom - self.box.top) * min(max(share, 0.0), 1.0)


def points(layers: Sequence[Mapping[str, Any]], clock_hz: int) -> list[RooflinePoint]:
    """(MACs per DRAM byte or None, MAC/s over the span, layer) of every layer that has MACs and time."""
    found = []
    for layer in layers:
        if layer["macs"] and layer["cycles_total"]:
            moved = layer["dram_read_bytes"] + layer["dram_write_bytes"]
            rate = layer["macs"] * clock_hz / layer["cycles_total"]
            found.append((layer["macs"] / moved if moved else None, rate, layer))
    return found


def roofline(summary: Mapping[str, Any], frame: DrawingFrame = svg.WIDE) -> str:
    """The chart, '' when no layer has MACs or the chip states no peak bandwidth."""
    clock_hz, peak = summary["architecture"]["clock_hz"], float(summary["architecture"]["peak_macs_per_s"])
    bandwidth = float(summary["dram"]["peak_bytes_per_s"] or 0)
    dots = points(single_layers(summary), clock_hz)
    if not dots or not bandwidth or not peak:
        return ""
    ridge = peak / bandwidth
    intensities = [x for x, _, _ in dots if x is not None] + [ridge]
    rates = [y for _, y, _ in dots] + [peak]
    box = PlotBox(frame, LEFT, RIGHT, TOP, BOTTOM).fitted()
    axes = _Axes(
        box,
        floor(log10(min(intensities)) - 0.2),
        ceil(log10(max(intensities)) + 0.3),
        floor(log10(min(rates))),
        log10(peak) + 0.3,
    )
    drawn = [_grid(axes), _ceilings(axes, peak, bandwidth, ridge), _dots(axes, dots, summary["cycles_total"])]
    drawn.append(box.names("MACs per byte of DRAM traffic", "MAC/s"))
    return svg.picture(box.height, "Roofline of the layers", drawn, frame)


def _grid(axes: _Axes) -> str:
    across = [10.0**power for power in range(ceil(axes.x_low), floor(axes.x_high) + 1)]
    up = [10.0**power for power in range(ceil(axes.y_low), floor(axes.y_high) + 1)]
    return axes.box.across(across, axes.x, lambda value: f"{value:,g}") + axes.box.up(up, axes.y, lambda v: si(v, ""))


def _ceilings(axes: _Axes, peak: float, bandwidth: float, ridge: float) -> str:
    start = max(10.0**axes.x_low, 10.0**axes.y_low / bandwidth)
    x_knee, y_knee = axes.x(ridge), axes.y(peak)
    memory = svg.line(axes.x(start), axes.y(start * bandwidth), x_knee, y_knee, css="roof")
    right, is_narrow = axes.box.right, axes.box.frame.is_narrow
    compute = svg.line(x_knee, y_knee, right, y_knee, css="roof")
    names = svg.text(right, 13 if is_narrow else y_knee - 6, f"peak {si(peak, 'MAC/s')}", "t strong", "end")
    told = f"DRAM {si(bandwidth, 'B/s')} up to {ridge:.3g} MAC/B"
    x, y = (right, 29) if is_narrow else (x_knee - 14, y_knee - 6)
    return memory + compute + names + svg.text(x, y, told, "t strong", "end")


def _dots(axes: _Axes, dots: Sequence[RooflinePoint], total: int) -> str:
    drawn, names, frame = [], [], axes.box.frame
    taken: list[tuple[float, float, float]] = []  # middle, baseline and half the width of each name
    for intensity, rate, layer in sorted(dots, key=lambda dot: (-dot[2]["cycles_critical"], dot[2]["name"])):
        x = axes.box.right if intensity is None else axes.x(intensity)
        y, share = axes.y(rate), layer["cycles_critical"] / total if total else 0.0
        radius = 3 + (LARGEST_NARROW if frame.is_narrow else LARGEST) * sqrt(share)
        where = "no DRAM traffic" if intensity is None else f"{intensity:.3g} MAC/B"
        tip = f"{layer['name']} ({layer['op']}): {si(rate, 'MAC/s')}, {where}, {percent(share)} of the time"
        colour = bound_colour(layer["bound_by"])
        drawn.append(svg.tag("circle", svg.title(frame.tip(tip)), cx=x, cy=y, r=radius, fill=colour, class_="dot"))
        under = y + radius + 11
        words = shorten(layer["name"], 22)
        middle, half = frame.middle(x, words), LETTER * len(words) / 2
        if len(taken) < LABELLED and all(abs(middle - a) > half + c or abs(under - b) > 14 for a, b, c in taken):
            taken.append((middle, under, half))
            names.append(svg.text(middle, under, words, "t small", "middle"))
    return "".join(drawn + names)
