"""First words of the numbers that requirements, objectives and constraints may name of a scenario's result."""

from __future__ import annotations

KEYS = (
    "architecture",
    "hyperperiod_s",
    "frames",
    "misses",
    "latency_s",
    "slack_min_s",
    "load",
    "busy_share",
    "idle_share",
    "power_avg_w",
    "power_peak_w",
    "power_idle_w",
    "energy_j",
    "area_mm2",
    "energy_breakdown_j",
    "energy_parts_j",
    "idle_breakdown_w",
    "streams",
)
