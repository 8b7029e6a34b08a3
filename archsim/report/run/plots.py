"""The plots of a notebook, drawn with matplotlib from a summary, in the colours of the pages.

Each function returns the Figure; nothing is shown or written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from archsim.base import plain
from archsim.ir.result import Summary, single_layers
from archsim.report.charts.dram import HITS, READ, WRITTEN
from archsim.report.charts.power import colours, largest_first
from archsim.report.charts.roofline import points
from archsim.report.kit.causes import bound_colour, bound_label, cause, in_order, label
from archsim.report.kit.number_format import percent, shorten, si
from archsim.report.run.dram_rows import parts_with_rows
from archsim.report.run.headline import title
from archsim.report.run.run_sentences import slow_layers

WIDTH_IN = 9.0
ROWS = 24


def waterfall(summary: Summary) -> Figure:
    """MAC slots from the peak down to the useful ones, one loss per row, in cycles' worth of the whole chip."""
    parts, cycles = summary["mac_breakdown"], summary["cycles_total"]
    slots = sum(parts.values()) or 1
    rows = [key for key in in_order([*parts]) if parts[key] and key != "useful"]
    figure, axes = _figure(0.3 * (len(rows) + 2) + 1.0, f"{title(summary)}: where the MAC slots went")
    level = slots
    axes.barh(0, cycles, color="#5F6873")
    for index, key in enumerate([*rows, "useful"], start=1):
        level = 0 if key == "useful" else level - parts[key]
        axes.barh(-index, cycles * parts[key] / slots, left=cycles * level / slots, color=cause(key).colour)
    names = ["peak", *(label(key) for key in rows), label("useful")]
    shares = [slots, *(parts[key] for key in rows), parts.get("useful", 0)]
    axes.set_yticks([-index for index in range(len(names))], names, fontsize=9)
    for index, share in enumerate(shares):
        axes.text(1.01 * cycles, -index, percent(share, slots), va="center", fontsize=9)
    axes.set_xlabel("cycles")
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.margins(x=0.02, y=0.03)
    return figure


def timeline(summary: Summary) -> Figure:
    """Each layer's span over time (ms), slow layers named, coloured by what bounds it."""
    hz, rows = summary["architecture"]["clock_hz"], [row for row in single_layers(summary) if row["cycles_total"]]
    figure, axes = _figure(max(2.0, 0.13 * len(rows) + 1), f"{title(summary)}: timeline")
    named = {layer["name"] for layer in slow_layers(summary, 12)}
    for index, layer in enumerate(rows):
        start, length = 1e3 * layer["cycles_start"] / hz, 1e3 * layer["cycles_total"] / hz
        axes.barh(-index, length, left=start, height=0.8, color=bound_colour(layer["bound_by"]))
        if layer["name"] in named:
            name = plain.label(shorten(layer["name"], 30))
            axes.text(start + length, -index, f" {name}", va="center", fontsize=7)
    axes.set_yticks([])
    axes.set_xlabel("time, ms")
    _legend(axes, {bound_label(row["bound_by"]): bound_colour(row["bound_by"]) for row in rows})
    return figure


def roofline(summary: Summary) -> Figure:
    """MAC/s of each layer against MACs per DRAM byte, under the ceilings of the chip; log-log."""
    peak, bandwidth = summary["architecture"]["peak_macs_per_s"], summary["dram"]["peak_bytes_per_s"]
    figure, axes = _figure(4.5, f"{title(summary)}: roofline")
    every = points(single_layers(summary), summary["architecture"]["clock_hz"])
    dots = [(intensity, rate, layer) for intensity, rate, layer in every if intensity is not None]
    for intensity, rate, layer in dots:
        size = 20 + 2000 * layer["cycles_critical"] / max(summary["cycles_total"], 1)
        axes.scatter(intensity, rate, s=size, color=bound_colour(layer["bound_by"]), alpha=0.75, linewidths=0)
    if bandwidth:
        ridge = peak / bandwidth
        reach = [ridge / 10, ridge * 10, *(intensity for intensity, _, _ in dots)]
        low, high = min(reach), max(reach)
        axes.plot([low, ridge, high], [low * bandwidth, peak, peak], color="#1c2530", linewidth=1.4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("MACs per byte of DRAM traffic")
    axes.set_ylabel("MAC/s")
    axes.grid(color="#e9ecf0")
    axes.set_axisbelow(True)
    _legend(axes, {bound_label(row["bound_by"]): bound_colour(row["bound_by"]) for _, _, row in dots})
    return figure


def energy(summary: Summary) -> Figure:
    """Joules by part, largest on top."""
    parts = sorted(summary["energy_breakdown_j"].items(), key=lambda item: (item[1], item[0]))
    figure, axes = _figure(0.35 * len(parts) + 1.2, f"{title(summary)}: {si(summary['energy_j'], 'J')}")
    axes.barh(
        [plain.label(name) for name, _ in parts], [1e3 * joules for _, joules in parts], color=cause("busy").colour
    )
    for index, (_, joules) in enumerate(parts):
        axes.text(1e3 * joules, index, f" {percent(joules, summary['energy_j'])}", va="center", fontsize=8)
    axes.set_xlabel("energy, mJ")
    axes.margins(x=0.12, y=0.02)
    return figure


def stalls(summary: Summary) -> Figure:
    """The critical path of the slowest layers in cycles, by cause."""
    critical, rows = summary["details"]["critical"], slow_layers(summary, ROWS)[::-1]
    figure, axes = _figure(0.26 * len(rows) + 1.4, f"{title(summary)}: critical path")
    names = [plain.label(shorten(layer["name"], 34)) for layer in rows]
    causes = in_order(sorted({key for layer in rows for key in critical.get(layer["name"], {})}))
    left = [0.0] * len(rows)
    for key in causes:
        widths = [float(critical.get(layer["name"], {}).get(key, 0)) for layer in rows]
        axes.barh(range(len(rows)), widths, left=left, color=cause(key).colour, label=label(key))
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.set_xlabel("cycles on the critical path")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.legend(frameon=False, fontsize=8)
    return figure


def dram(summary: Summary) -> Figure:
    """Each DRAM part with rows: GB/s read and written under the peak over time (ms), below it the row-hit rate."""
    parts = parts_with_rows(summary)
    figure = Figure(figsize=(WIDTH_IN, 3.6 * max(len(parts), 1)), layout="constrained")
    found = "DRAM over time" if parts else "no DRAM with rows"
    figure.suptitle(plain.label(f"{title(summary)}: {found}"), x=0.01, ha="left", fontsize=11)
    grid = figure.add_gridspec(2 * max(len(parts), 1), 1, height_ratios=[2, 1] * max(len(parts), 1))
    for index, (name, part) in enumerate(parts.items()):
        above = figure.add_subplot(grid[2 * index])
        _bandwidth(above, name, part)
        _row_hits(figure.add_subplot(grid[2 * index + 1], sharex=above), part)
    return figure


def power(summary: Summary) -> Figure:
    """Watts over time (ms), stacked by part; the area is the energy of the run."""
    windows = summary["details"].get("power", {})
    figure, axes = _figure(3.6, f"{title(summary)}: power, {si(summary['power_avg_w'], 'W')} on average")
    names = largest_first(windows)
    count = len(windows[names[0]]) if names else 0
    edges = [1e3 * summary["latency_s"] * index / max(count, 1) for index in range(count + 1)]
    low = [0.0] * count
    for name, colour in colours(names).items():
        high = [start + joules * count / summary["latency_s"] for start, joules in zip(low, windows[name], strict=True)]
        axes.stairs(high, edges, baseline=low, fill=True, color=colour, label=plain.label(name))
        low = high
    axes.axhline(summary["power_avg_w"], color="#1c2530", linewidth=1.0, linestyle="--")
    axes.set_xlabel("time, ms")
    axes.set_ylabel("W")
    axes.legend(frameon=False, fontsize=8, ncols=4)
    return figure


def _bandwidth(axes: Axes, name: str, part: Mapping[str, Any]) -> None:
    windows = part["windows"]
    scale = 1e-9 / windows["seconds"]
    read = [size * scale for size in windows["read_bytes"]]
    both = [low + size * scale for low, size in zip(read, windows["write_bytes"], strict=True)]
    edges = [1e3 * windows["seconds"] * index for index in range(len(read) + 1)]
    axes.stairs(both, edges, baseline=read, fill=True, color=WRITTEN, label="written")
    axes.stairs(read, edges, fill=True, color=READ, label="read")
    axes.axhline(part["peak_bytes_per_s"] * 1e-9, color="#1c2530", linewidth=1.4, label="peak")
    axes.set_ylabel(plain.label(f"{name}, GB/s"))
    axes.legend(frameon=False, fontsize=8, ncols=3)


def _row_hits(axes: Axes, part: Mapping[str, Any]) -> None:
    windows = part["windows"]
    edges = [1e3 * windows["seconds"] * index for index in range(len(windows["row_hit_rate"]) + 1)]
    rates = [float("nan") if rate is None else 100 * rate for rate in windows["row_hit_rate"]]
    axes.stairs(rates, edges, baseline=None, color=HITS)
    axes.set_ylim(0, 105)
    axes.set_ylabel("row hits, %")
    axes.set_xlabel("time, ms")


def _figure(height_in: float, heading: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(plain.label(heading), loc="left", fontsize=11)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _legend(axes: Axes, colours: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=plain.label(name)) for name, colour in sorted(colours.items())]
    axes.legend(handles=handles, frameon=False, fontsize=8)
