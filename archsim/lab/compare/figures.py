"""The figures of runs side by side, with their ratios to the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.quantity import unit_of

FIGURES = {
    "cycles_total": "cycles",
    "latency_s": "latency",
    "throughput_per_s": "throughput",
    "utilization": "utilization",
    "macs": "MACs on arrays",
    "energy_j": "energy",
    "energy_chip_j": "energy on chip",
    "edp_js": "energy x delay",
    "power_avg_w": "power, average",
    "power_peak_w": "power, peak",
    "area_mm2": "area",
    "die_cost_usd": "die cost",
    "dram.read_bytes": "DRAM read",
    "dram.write_bytes": "DRAM written",
    "dram.useful_bytes": "DRAM bytes asked for",
    "dram.row_hit_rate": "DRAM row hits",
    "dram.bandwidth_utilization": "of DRAM bandwidth",
}


def figures(summaries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """``{key, label, unit, values, ratios}``; None where a run has no figure; figures that no run has are left out."""
    rows = []
    for key, label in FIGURES.items():
        values = [_value(summary, key) for summary in summaries]
        if any(value is not None for value in values):
            ratios = [_ratio(value, values[0]) for value in values]
            rows.append({"key": key, "label": label, "unit": unit_of(key), "values": values, "ratios": ratios})
    return rows


def _value(summary: Mapping[str, Any], key: str) -> float | None:
    section, _, name = key.rpartition(".")
    found: float | None = (summary[section] if section else summary).get(name)
    return found


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None
