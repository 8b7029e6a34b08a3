"""The numbers that stand first on every page and in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.report.kit.number_format import NONE, count, counted, number, percent, si

_USUAL = {"set": {}, "on_unsupported": "error"}  # what a title need not repeat
_DOT = " \N{MIDDLE DOT} "

HeadlineFigure = tuple[str, str, str]  # name, figure with unit, remark


def title(summary: Mapping[str, Any]) -> str:
    """``resnet50 on edge_npu``."""
    return f"{summary['workload']['name']} on {summary['architecture']['name']}"


def setting(summary: Mapping[str, Any]) -> tuple[str, str]:
    """Under the title: size of the model, clock and peak of the chip; then the options of the run."""
    workload, chip = summary["workload"], summary["architecture"]
    options = summary["provenance"].get("options", {})
    chosen = [_option(key, value) for key, value in options.items() if value != _USUAL.get(key)]
    size = si(workload["weight_bytes"], "B")
    model = f"{counted(workload['layers'], 'layer')}, {si(workload['macs'], 'MAC')}, {size} of weights"
    machine = f"{si(chip['clock_hz'], 'Hz')}, peak {si(chip['peak_macs_per_s'], 'MAC/s')}"
    return f"{model}{_DOT}{machine}", _DOT.join(chosen)


def _option(key: str, value: Any) -> str:
    if key == "dtypes":
        return f"{value['weights']} weights, {value['inputs']} inputs, {value['accumulate']} sums"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return f"{key} {value}"


def headline(summary: Mapping[str, Any]) -> list[HeadlineFigure]:
    """Eight figures: time, use, energy, power, traffic, area; then use of the best peak, where the formats used have
    another, and the time and energy of a sample of a batch."""
    return [*_figures(summary), *_best(summary), *_each(summary)]


def _figures(summary: Mapping[str, Any]) -> list[HeadlineFigure]:
    dram, area = summary["dram"], summary["area_mm2"]
    moved = (dram["read_bytes"] or 0) + (dram["write_bytes"] or 0)
    peak = f"peak {si(summary['power_peak_w'], 'W', 3)}"
    return [
        ("latency", si(summary["latency_s"], "s"), f"{count(summary['cycles_total'])} cycles"),
        ("throughput", f"{number(summary['throughput_per_s'])} /s", "samples per second"),
        _utilization(summary),
        ("DRAM traffic", si(moved, "B"), _of_peak(summary)),
        ("energy", si(summary["energy_j"], "J"), f"{si(summary['energy_chip_j'], 'J')} on chip"),
        ("power", si(summary["power_avg_w"], "W"), ", ".join(filter(None, (bound_of(summary, "power_avg_w"), peak)))),
        ("EDP", si(summary["edp_js"], "Js"), "energy x delay"),
        ("area", _area(area), _area_remark(summary)),
    ]


def _area_remark(summary: Mapping[str, Any]) -> str:
    if summary["area_mm2"] is None:
        return "a part has no figure"
    return bound_of(summary, "area_mm2") or "parts with a figure"


def samples(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """``per_sample``, with one sample where the summary does not say."""
    return summary.get("per_sample") or {"samples": 1, "time_s": summary["latency_s"], "energy_j": summary["energy_j"]}


def bound_of(summary: Mapping[str, Any], key: str) -> str:
    """``lower bound`` where a figure leaves out what the real chip has, ``''`` where nothing is said of it."""
    word = summary.get("bounds", {}).get(key, "")
    return f"{word} bound" if word == "lower" else word


def _each(summary: Mapping[str, Any]) -> list[HeadlineFigure]:
    """Of a batch the time and the energy of one sample."""
    each = samples(summary)
    if each["samples"] < 2:
        return []
    moved = f"{si(each['dram_bytes'], 'B')} of DRAM"
    return [
        ("per sample", si(each["time_s"], "s"), f"{count(round(each['cycles']))} cycles"),
        ("per sample", si(each["energy_j"], "J"), moved),
    ]


def _utilization(summary: Mapping[str, Any]) -> HeadlineFigure:
    """Over the peak of the formats used."""
    peak = si(summary["architecture"]["peak_macs_per_s"], "MAC/s")
    used = summary.get("utilization_dtype", summary["utilization"])
    if used == summary["utilization"]:
        return "utilization", percent(used), f"of {peak}"
    return "utilization", percent(used), f"of {si(summary['details'].get('peak_dtype_macs_per_s'), 'MAC/s')} as used"


def _best(summary: Mapping[str, Any]) -> list[HeadlineFigure]:
    """Over the best peak, where that is another."""
    best, peak = summary["utilization"], si(summary["architecture"]["peak_macs_per_s"], "MAC/s")
    return [("of best peak", percent(best), f"of {peak}")] if summary.get("utilization_dtype", best) != best else []


def _of_peak(summary: Mapping[str, Any]) -> str:
    dram = summary["dram"]
    if not dram["peak_bytes_per_s"]:
        return "of unlimited bandwidth"
    busiest = busiest_memory(dram)
    peak = summary["details"].get("dram", {}).get(busiest, {}).get("peak_bytes_per_s")
    if busiest and peak:
        return f"{percent(dram['bandwidth_utilization'])} of {busiest}'s {si(peak, 'B/s')}"
    return f"{percent(dram['bandwidth_utilization'])} of {si(dram['peak_bytes_per_s'], 'B/s')}"


def busiest_memory(dram: Mapping[str, Any]) -> str:
    """The DRAM with the largest share of its bandwidth in use; ``''`` where there is one at most."""
    memories = dram.get("memories", {})
    if len(memories) < 2:
        return ""
    return str(min(memories, key=lambda name: (-memories[name]["bandwidth_utilization"], name)))


def _area(area_mm2: float | None) -> str:
    return NONE if area_mm2 is None else f"{number(area_mm2)} mm\N{SUPERSCRIPT TWO}"
