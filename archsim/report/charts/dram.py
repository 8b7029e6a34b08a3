"""A DRAM part over time: bandwidth read and written, stacked, under the peak; below it the row-hit rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.charts.time_axis import LEFT, RIGHT, axis, place
from archsim.report.kit import svg
from archsim.report.kit.number_format import NONE, percent, si

BANDWIDTH, RATE, GAP = 150.0, 70.0, 36.0
TOP = 18.0
READ, WRITTEN, HITS = "#0072B2", "#E69F00", "#009E73"
LEGEND = (
    (READ, "read", "bytes on the pins, whole bursts"),
    (WRITTEN, "written", "bytes on the pins, whole bursts"),
    (HITS, "row hits", "share of the bursts that found their row open; a gap where nothing moved"),
)


def dram(part: Mapping[str, Any], latency_s: float, name: str) -> str:
    """``part``: an entry of ``details.dram`` with its windows; ``name`` of the memory, for those who cannot see."""
    windows, peak = part["windows"], part["peak_bytes_per_s"]
    length_s = windows["seconds"]
    read = [size / length_s for size in windows["read_bytes"]]
    both = [size / length_s for size in map(sum, zip(windows["read_bytes"], windows["write_bytes"], strict=True))]
    top = max(peak, *both)
    middle, bottom = TOP + BANDWIDTH, TOP + BANDWIDTH + GAP + RATE
    drawn = [_bandwidth_axis(top), _area(both, top, WRITTEN), _area(read, top, READ)]
    peak_y = middle - BANDWIDTH * peak / top
    drawn += [svg.line(LEFT, peak_y, RIGHT, peak_y, css="roof")]
    drawn += [svg.text(RIGHT, peak_y - 5, f"peak {si(peak, 'B/s')}", "t strong", "end")]
    drawn += [svg.line(LEFT, middle, RIGHT, middle, css="axis")]
    drawn += [_rate_axis(bottom), _rates(windows["row_hit_rate"], bottom), _tips(windows, both, bottom)]
    drawn.append(axis(bottom, latency_s))
    return svg.picture(bottom + 24, f"{name} over time", drawn)


def _bandwidth_axis(top: float) -> str:
    drawn = []
    for tick in svg.ticks(top, 4):
        y = TOP + BANDWIDTH * (1 - tick / top)
        drawn.append(svg.line(LEFT, y, RIGHT, y))
        drawn.append(svg.text(LEFT - 8, y + 4, si(tick, "B/s", 3) if tick else "0", "t num dim", "end"))
    return "".join(drawn)


def _area(values: Sequence[float], top: float, colour: str) -> str:
    """Steps from zero up to ``values``, one per window."""
    base, path = TOP + BANDWIDTH, [f"M {LEFT:.1f} {TOP + BANDWIDTH:.1f}"]
    for index, value in enumerate(values):
        y = base - BANDWIDTH * value / top
        path.append(f"L {place(index, len(values)):.1f} {y:.1f} L {place(index + 1, len(values)):.1f} {y:.1f}")
    return svg.tag("path", d=" ".join([*path, f"L {RIGHT:.1f} {base:.1f} Z"]), fill=colour)


def _rate_axis(bottom: float) -> str:
    drawn = [svg.text(LEFT, bottom - RATE - 8, "row hits", "t dim")]
    for tick in (0, 50, 100):
        y = bottom - RATE * tick / 100
        drawn.append(svg.line(LEFT, y, RIGHT, y))
        drawn.append(svg.text(LEFT - 8, y + 4, f"{tick} %", "t num dim", "end"))
    return "".join(drawn)


def _rates(rates: Sequence[float | None], bottom: float) -> str:
    """A line of steps, broken where there is no rate."""
    path, pen = [], "M"
    for index, rate in enumerate(rates):
        if rate is None:
            pen = "M"
            continue
        y = bottom - RATE * rate
        path.append(f"{pen} {place(index, len(rates)):.1f} {y:.1f} L {place(index + 1, len(rates)):.1f} {y:.1f}")
        pen = "L"
    return svg.tag("path", d=" ".join(path), fill="none", stroke=HITS, stroke_width=1.6) if path else ""


def _tips(windows: Mapping[str, Any], both: Sequence[float], bottom: float) -> str:
    """An unseen column over each window that tells its figures."""
    drawn = []
    for index, rate in enumerate(windows["row_hit_rate"]):
        x, end = place(index, len(both)), place(index + 1, len(both))
        hits = NONE if rate is None else percent(rate)
        tip = (
            f"from {si(index * windows['seconds'], 's', 3)}: {si(both[index], 'B/s', 3)}, "
            f"read {si(windows['read_bytes'][index], 'B', 3)}, written {si(windows['write_bytes'][index], 'B', 3)}, "
            f"row hits {hits}, {windows['row_conflicts'][index]} conflicts"
        )
        drawn.append(svg.rect(x, TOP, end - x, bottom - TOP, "#ffffff", tip, fill_opacity=0))
    return "".join(drawn)
