"""Words of scenarios and of their results, and first words of the numbers that requirements may name of a result."""

from __future__ import annotations

SCHEMA = "archsim.scenario_result/1"
SCENARIO = "archsim.scenario/1"  # of the file
PREEMPTS = ("never", "layer")
IDLE = "idle"
RESERVED = (IDLE, "sleep", "wake")  # names beside those of streams in results
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
MORE_IS_BETTER = ("slack_min_s",)  # of the numbers that only scenarios have
