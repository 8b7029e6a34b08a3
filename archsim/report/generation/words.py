"""Words of results of generation, and first words of the numbers that requirements may name of one."""

from __future__ import annotations

SCHEMA = "archsim.generation_result/1"
KEYS = (
    "architecture",
    "asked",
    "generation",
    "output_tokens",
    "latency_s",
    "energy_j",
    "power_avg_w",
    "area_mm2",
    "prefill",
    "decode",
)
