"""The numbers that stand first on every page and in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.report.format import NONE, count, number, percent, si

_USUAL = {"set": {}, "on_unsupported": "error"}  # what a title need not repeat
_DOT = " \N{MIDDLE DOT} "

Figure = tuple[str, str, str]  # name, figure with unit, remark


def title(summary: Mapping[str, Any]) -> str:
    """``resnet50 on edge_npu``."""
    return f"{summary['workload']['name']} on {summary['architecture']['name']}"


def setting(summary: Mapping[str, Any]) -> tuple[str, str]:
    """Under the title: size of the model, clock and peak of the chip; then the options of the run."""
    workload, chip = summary["workload"], summary["architecture"]
    options = summary["provenance"].get("options", {})
    chosen = [_option(key, value) for key, value in options.items() if value != _USUAL.get(key)]
    size = si(workload["weight_bytes"], "B")
    model = f"{count(workload['layers'])} layers, {si(workload['macs'], 'MAC')}, {size} of weights"
    machine = f"{si(chip['clock_hz'], 'Hz')}, peak {si(chip['peak_macs_per_s'], 'MAC/s')}"
    return f"{model}{_DOT}{machine}", _DOT.join(chosen)


def _option(key: str, value: Any) -> str:
    if key == "dtypes":
        return f"{value['weights']} weights, {value['inputs']} inputs, {value['accumulate']} sums"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return f"{key} {value}"


def headline(summary: Mapping[str, Any]) -> list[Figure]:
    """Eight figures: time, use, energy, power, traffic, area; of a batch the times and energy of a sample beside."""
    dram, area = summary["dram"], summary["area_mm2"]
    each = samples(summary)
    alone = each["samples"] > 1
    moved = (dram["read_bytes"] or 0) + (dram["write_bytes"] or 0)
    window = si(summary["power_window_s"], "s", 3)
    return [
        (
            "latency",
            si(summary["latency_s"], "s"),
            f"{count(summary['cycles_total'])} cycles{_each(each['time_s'], 's') if alone else ''}",
        ),
        ("throughput", f"{number(summary['throughput_per_s'])} /s", "samples per second"),
        _utilization(summary),
        ("DRAM traffic", si(moved, "B"), _of_peak(summary)),
        (
            "energy",
            si(summary["energy_j"], "J"),
            f"{si(summary['energy_chip_j'], 'J')} on chip{_each(each['energy_j'], 'J') if alone else ''}",
        ),
        (
            "power",
            si(summary["power_avg_w"], "W"),
            f"peak {si(summary['power_peak_w'], 'W', 3)} over {window}{_bound(summary, 'power_avg_w')}",
        ),
        ("EDP", si(summary["edp_js"], "Js"), "energy x delay"),
        (
            "area",
            _area(area),
            f"parts with a figure{_bound(summary, 'area_mm2')}" if area is not None else "a part has no figure",
        ),
    ]


def samples(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """``per_sample``, with one sample where the summary does not say."""
    return summary.get("per_sample") or {"samples": 1, "time_s": summary["latency_s"], "energy_j": summary["energy_j"]}


def bound_of(summary: Mapping[str, Any], key: str) -> str:
    """``lower bound`` where a figure leaves out what the real chip has, ``''`` where nothing is said of it."""
    word = summary.get("bounds", {}).get(key, "")
    return f"{word} bound" if word == "lower" else word


def _bound(summary: Mapping[str, Any], key: str) -> str:
    return f", {bound_of(summary, key)}" if bound_of(summary, key) else ""


def _each(value: float, unit: str) -> str:
    return f", {si(value, unit)} a sample"


def _utilization(summary: Mapping[str, Any]) -> Figure:
    """Over the peak of the formats used first, beside it over the best peak where that is another."""
    best, peak = summary["utilization"], summary["architecture"]["peak_macs_per_s"]
    used = summary.get("utilization_dtype", best)
    if used == best:
        return "utilization", percent(best), f"of {si(peak, 'MAC/s')}"
    of_formats = si(summary["details"].get("peak_dtype_macs_per_s"), "MAC/s")
    return "utilization", percent(used), f"of {of_formats} as used, {percent(best)} of best {si(peak, 'MAC/s')}"


def _of_peak(summary: Mapping[str, Any]) -> str:
    dram = summary["dram"]
    if not dram["peak_bytes_per_s"]:
        return "of unlimited bandwidth"
    busiest = busiest_memory(dram)
    peak = summary["details"].get("dram", {}).get(busiest, {}).get("peak_bytes_per_s")
    if busiest and peak:
        return f"{percent(dram['bandwidth_utilization'])} of {busiest}'s {si(peak, 'B/s')}, the busiest"
    return f"{percent(dram['bandwidth_utilization'])} of {si(dram['peak_bytes_per_s'], 'B/s')}"


def busiest_memory(dram: Mapping[str, Any]) -> str:
    """The DRAM with the largest share of its bandwidth in use; ``''`` where there is one at most."""
    memories = dram.get("memories", {})
    if len(memories) < 2:
        return ""
    return str(min(memories, key=lambda name: (-memories[name]["bandwidth_utilization"], name)))


def _area(area_mm2: float | None) -> str:
    return NONE if area_mm2 is None else f"{number(area_mm2)} mm\N{SUPERSCRIPT TWO}"
