"""report.html: one self-contained page (inline style, script and drawings) from a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from archsim.ir.causes import CAUSES
from archsim.ir.result import single_layers
from archsim.report.charts.addresses import LEGEND as MEMORY_LEGEND
from archsim.report.charts.addresses import addresses
from archsim.report.charts.dram import LEGEND as DRAM_LEGEND
from archsim.report.charts.dram import dram
from archsim.report.charts.gantt import gantt
from archsim.report.charts.network import legend as noc_legend
from archsim.report.charts.network import network
from archsim.report.charts.overview import overview
from archsim.report.charts.parts import parts
from archsim.report.charts.roofline import roofline
from archsim.report.charts.stacked import StackedBar, legend, stacked
from archsim.report.charts.treemap import treemap
from archsim.report.charts.waterfall import waterfall
from archsim.report.kit.causes import bound_colour, bound_label, cause
from archsim.report.kit.number_format import count, percent
from archsim.report.kit.svg import both
from archsim.report.kit.table import HTML, ReportTable
from archsim.report.kit.table_html import by_name
from archsim.report.kit.templates import page
from archsim.report.run.chip_parts import area_colours, part_colours, power_sentence, without_model
from archsim.report.run.dram_rows import parts_with_rows, sentence
from archsim.report.run.headline import bound_of, setting, title
from archsim.report.run.layouts import tables
from archsim.report.run.noc_rows import by_kind, core_bars
from archsim.report.run.noc_rows import sentence as sentence_of
from archsim.report.run.run_sentences import sentences, slow_layers
from archsim.report.run.timeline import sentence as cores_shown

SLOW = 16  # rows of the critical-path chart

PageContent = dict[str, Any]


def render(summary: Mapping[str, Any]) -> str:
    """The page as text; equal summaries give equal bytes."""
    made = tables(summary)
    values = {**_head(summary, made), **_time(summary), **_charts(summary), "table": by_name(made)}
    return page("report.html.j2", {**values, "contents": _contents(values, made)})


def _head(summary: Mapping[str, Any], made: Mapping[str, ReportTable]) -> PageContent:
    return {
        "title": title(summary),
        "setting": setting(summary),
        "version": summary["provenance"]["archsim_version"],
        "headline": made["headline"].texts(HTML),
        "verdict": sentences(summary),
        "warnings": summary["provenance"].get("warnings", []),
        "not_modelled": summary["details"].get("not_modelled", []),
        "cycles": count(summary["cycles_total"]),
    }


def _time(summary: Mapping[str, Any]) -> PageContent:
    total = summary["cycles_total"]
    breakdown, noc = summary["time_breakdown"], summary["details"].get("noc")
    units = [
        StackedBar(unit, causes, percent(sum(causes.get(key, 0) for key in CAUSES.worked), total))
        for unit, causes in breakdown.items()
    ]
    cores = core_bars(breakdown) if noc else []
    if noc:
        units = by_kind(breakdown)
    slow = slow_layers(summary, SLOW)
    critical = summary["details"].get("critical", {})
    bars = [
        StackedBar(
            layer["name"],
            critical.get(layer["name"]) or {layer["bound_by"]: layer["cycles_critical"]},
            f"{percent(layer['cycles_critical'], total)}  {bound_label(layer['bound_by'])}",
        )
        for layer in slow
    ]
    shown = [key for bar in [*units, *bars] for key, cycles in bar.parts.items() if cycles]
    return {
        "units": _stacked(units, "Cycles of each unit by cause"),
        "cores": _stacked(cores, "Cycles of each core's arrays by cause", total) if cores else "",
        "critical": _stacked(bars, "Critical path by layer"),
        "time_legend": legend(shown),
        "slow_count": len(bars),
        "layer_count": len(single_layers(summary)),
    }


def _stacked(bars: Sequence[StackedBar], description: str, scale: int | None = None) -> Markup:
    """Without ``scale`` the longest bar fills the width."""
    most = max((sum(bar.parts.values()) for bar in bars), default=1) if scale is None else scale
    return Markup(both(lambda frame: stacked(bars, most, description, frame=frame)))


def _charts(summary: Mapping[str, Any]) -> PageContent:
    details = summary["details"]
    area = details.get("area_breakdown_mm2", {})
    windows, spent = details.get("timeline", []), details.get("power", {})
    colours = [segment[2] for window in windows for unit in window["units"].values() for segment in unit]
    bounds = sorted({layer["bound_by"] for layer in single_layers(summary) if layer["macs"]})
    return {
        "waterfall": Markup(both(partial(waterfall, summary["mac_breakdown"], summary["cycles_total"]))),
        "roofline": Markup(both(partial(roofline, summary))),
        "bound_legend": [(bound_colour(name), f"bound by {bound_label(name)}", "") for name in bounds],
        "energy": Markup(
            both(partial(parts, summary["energy_breakdown_j"], "J", cause("busy").colour, "Energy by part"))
        ),
        "area": Markup(both(partial(parts, area, "mm2", "#5F6873", "Area by part"))) if area else "",
        "floor": Markup(both(partial(treemap, area, area_colours(summary), "Areas of the parts to scale")))
        if area
        else "",
        "no_area": without_model(summary),
        "area_bound": bound_of(summary, "area_mm2"),
        "power_legend": [(colour, part, "") for part, colour in part_colours(summary).items() if part in spent],
        "power_sentence": power_sentence(summary),
        "overview": Markup(overview(summary)),
        "timelines": [
            {"layer": window["layer"], "cores": cores_shown(window.get("cores", {})), "chart": Markup(gantt(window))}
            for window in windows
        ],
        "memories": [
            {"name": name, "chart": Markup(addresses(summary, name))} for name in details.get("memory_map", ())
        ],
        "memory_legend": MEMORY_LEGEND,
        "drams": _drams(summary),
        "noc": _network(summary["details"].get("noc")),
        "dram_legend": DRAM_LEGEND,
        "timeline_legend": [(colour, name.removeprefix("waits for "), tip) for colour, name, tip in legend(colours)],
    }


def _network(noc: Mapping[str, Any] | None) -> PageContent | None:
    if noc is None:
        return None
    return {
        "name": noc["name"],
        "sentence": sentence_of(noc),
        "chart": Markup(network(noc)),
        "legend": noc_legend(noc),
    }


def _drams(summary: Mapping[str, Any]) -> list[PageContent]:
    return [
        {"name": name, "sentence": sentence(name, part), "chart": Markup(dram(part, summary["latency_s"], name))}
        for name, part in parts_with_rows(summary).items()
    ]


def _contents(values: PageContent, made: Mapping[str, ReportTable]) -> list[tuple[str, str]]:
    sections = [
        ("bottlenecks", "Bottlenecks", "bottlenecks" in made or "why" in made),
        ("waterfall", "MAC waterfall", True),
        ("time", "Where the time went", True),
        ("groups", "Layers that ran together", "groups" in made),
        ("predicted", "Predicted and simulated", "predicted" in made),
        ("roofline", "Roofline", bool(values["roofline"])),
        ("memory", "Memory over time", bool(values["memories"])),
        ("dram", "DRAM over time", bool(values["drams"])),
        ("roles", "DRAM by role", "roles" in made),
        ("noc", "Network", bool(values["noc"])),
        ("energy", "Energy and area", True),
        ("timeline", "Timeline and power", True),
        ("layers", "Layers", True),
        ("assumptions", "Assumptions", True),
        ("provenance", "Provenance", True),
    ]
    return [(anchor, name) for anchor, name, present in sections if present]
