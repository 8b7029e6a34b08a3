"""The figures of runs side by side, with their ratios to the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.kit.quantity import unit_of
from archsim.report.run.headline import bound_of, samples

FIGURES = {
    "cycles_total": "cycles",
    "latency_s": "latency",
    "throughput_per_s": "throughput",
    "utilization_dtype": "utilization, of the formats' peak",
    "utilization": "utilization, of the best peak",
    "macs": "MACs",
    "macs_array": "MACs on arrays",
    "macs_vector": "MACs on vector units",
    "macs_host": "MACs on the host",
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
EACH = {  # beside the figures of a batch
    "per_sample.samples": "samples",
    "per_sample.cycles": "cycles, a sample",
    "per_sample.time_s": "time, a sample",
    "per_sample.energy_j": "energy, a sample",
    "per_sample.macs": "MACs, a sample",
    "per_sample.dram_bytes": "DRAM traffic, a sample",
}


def figures(summaries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """``{key, label, unit, values, ratios}``; None where a run has no figure.

    Figures that no run has are left out, those of a sample where every run is of one.
    """
    rows = []
    batches = any(samples(summary)["samples"] > 1 for summary in summaries)
    for key, label in {**FIGURES, **(EACH if batches else {})}.items():
        values = [_value(summary, key) for summary in summaries]
        if any(value is not None for value in values):
            ratios = [_ratio(value, values[0]) for value in values]
            said = {"key": key, "label": _label(summaries, key, label), "unit": unit_of(key)}
            rows.append({**said, "values": values, "ratios": ratios})
    return rows


def _value(summary: Mapping[str, Any], key: str) -> float | None:
    section, _, name = key.rpartition(".")
    found: float | None = (summary.get(section, {}) if section else summary).get(name)
    return found


def _label(summaries: Sequence[Mapping[str, Any]], key: str, label: str) -> str:
    """With what is said of the figure's bounds."""
    said = dict.fromkeys(filter(None, (bound_of(summary, key) for summary in summaries)))
    return f"{label} ({', '.join(said)})" if said else label


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None
