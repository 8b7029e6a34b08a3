"""What the numbers of a result are in: by their key where a table has it, else by the unit that the name ends in."""

from __future__ import annotations

import math
from typing import Any

from archsim.report.kit.number_format import NONE, count, number, percent, si

COUNT, SHARE = "1", "share"
BY_KEY = {
    "cycles_total": "cycles",
    "macs": "MAC",
    "macs_array": "MAC",
    "macs_vector": "MAC",
    "macs_host": "MAC",
    "workload.macs": "MAC",
    "workload.layers": COUNT,
    "workload.parameters": COUNT,
    "architecture.peak_macs_per_s": "MAC/s",
    "dram.peak_bytes_per_s": "B/s",
    "throughput_per_s": "1/s",
    "utilization": SHARE,
    "utilization_dtype": SHARE,
    "per_sample.samples": COUNT,
    "per_sample.cycles": "cycles",
    "per_sample.macs": "MAC",
    "dram.row_hit_rate": SHARE,
    "dram.bandwidth_utilization": SHARE,
}
BY_SECTION = {"mac_breakdown": "MAC", "time_breakdown": "cycles"}  # every number below
PLAIN = {"mm2": "mm\N{SUPERSCRIPT TWO}", "USD": "USD", "1/s": "/s"}  # without prefixes -> as people write them
BY_ENDING = {
    "_bytes": "B", "_hz": "Hz", "_js": "J s", "_j": "J", "_w": "W", "_s": "s", "_mm2": "mm2", "_usd": "USD",
}  # fmt: skip


def unit_of(key: str) -> str | None:
    """``latency_s`` as 's', ``energy_breakdown_j.l1`` as 'J', shares as 'share', counts as '1'; None where neither the
    key nor its name says."""
    section = key.partition(".")[0]
    if key in BY_KEY:
        return BY_KEY[key]
    if key.startswith("dram.memories."):
        return unit_of(f"dram.{key.rpartition('.')[2]}")
    if section in BY_SECTION:
        return BY_SECTION[section]
    for name in dict.fromkeys((key, section)):
        for ending, unit in BY_ENDING.items():
            if name.endswith(ending) and not name.endswith("_per_s"):
                return unit
    return None


def bare(key: str) -> str:
    """A key in words, without the unit that it ends in: ``power_avg_w`` as 'power avg'."""
    ending = next((ending for ending in ("_per_s", *BY_ENDING) if key.endswith(ending)), "")
    return key.removesuffix(ending).replace("_", " ")


def shown(key: str, value: Any) -> str:
    """A number of the result with its unit, for people; a dash where there is none."""
    return quantity(value, unit_of(key))


def quantity(value: Any, unit: str | None) -> str:
    """A number with its unit: prefixes where the unit takes them, shares in percent."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NONE
    if unit == SHARE:
        return percent(float(value))
    if unit in ("cycles", COUNT, None):
        return count(int(value)) if float(value).is_integer() else number(float(value))
    if unit in PLAIN:
        return f"{number(float(value))} {PLAIN[unit]}"
    return si(float(value), unit)
