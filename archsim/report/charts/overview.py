"""The run from start to end: each layer's span, stacked where layers overlap, over its power by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.ir.result import single_layers
from archsim.report.charts.power import HEIGHT, power
from archsim.report.charts.time_axis import LEFT, axis, place
from archsim.report.kit import svg
from archsim.report.kit.causes import bound_colour, bound_label
from archsim.report.kit.number_format import at_word, count, percent

LANE, LANES = 20.0, 6
LETTER = 7.0  # user units that one takes at most, in the mean


def overview(summary: Mapping[str, Any]) -> str:
    """Layers by lane (first free one, at most six), then power per window and part where the run recorded it."""
    total = summary["cycles_total"]
    shown = [row for row in single_layers(summary) if row["cycles_total"] > 0 and not row["name"].startswith("_")]
    lanes = _lanes(shown)
    rows = min(len(lanes), LANES)
    drawn = [svg.text(LEFT - 10, 13, "layers", "t dim", "end")]
    for index, lane in enumerate(lanes):
        drawn.extend(_block(layer, min(index, LANES - 1) * LANE, total) for layer in lane)
    y = max(rows, 1) * LANE + 8
    windows = summary.get("details", {}).get("power", {})
    if windows:
        drawn.append(power(windows, y, summary["latency_s"], summary["power_avg_w"]))
        y += HEIGHT
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
    words = at_word(layer["name"], int((width - 8) / LETTER))
    return block + (svg.text(x + 4, y + 12, words, "t small inverse") if words else "")
