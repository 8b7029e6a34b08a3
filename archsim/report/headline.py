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
    """Eight figures: time, use, energy, power, traffic, area."""
    dram, area = summary["dram"], summary["area_mm2"]
    moved = (dram["read_bytes"] or 0) + (dram["write_bytes"] or 0)
    window = si(summary["power_window_s"], "s", 3)
    return [
        ("latency", si(summary["latency_s"], "s"), f"{count(summary['cycles_total'])} cycles"),
        ("throughput", f"{number(summary['throughput_per_s'])} /s", "samples per second"),
        (
            "utilization",
            percent(summary["utilization"]),
            f"of {si(summary['architecture']['peak_macs_per_s'], 'MAC/s')}",
        ),
        ("DRAM traffic", si(moved, "B"), _of_peak(dram)),
        ("energy", si(summary["energy_j"], "J"), f"{si(summary['energy_chip_j'], 'J')} on chip"),
        (
            "power",
            si(summary["power_avg_w"], "W"),
            f"peak {si(summary['power_peak_w'], 'W', 3)} over {window}",
        ),
        ("EDP", si(summary["edp_js"], "Js"), "energy x delay"),
        ("area", _area(area), "parts with a figure" if area is not None else "a part has no figure"),
    ]


def _of_peak(dram: Mapping[str, Any]) -> str:
    if not dram["peak_bytes_per_s"]:
        return "of unlimited bandwidth"
    return f"{percent(dram['bandwidth_utilization'])} of {si(dram['peak_bytes_per_s'], 'B/s')}"


def _area(area_mm2: float | None) -> str:
    return NONE if area_mm2 is None else f"{number(area_mm2)} mm\N{SUPERSCRIPT TWO}"
