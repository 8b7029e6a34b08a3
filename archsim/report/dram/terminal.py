"""A replayed trace as JSON and as a few lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from archsim.base.units import si

SCHEMA = "archsim.dram/1"
BAR = 40


def to_json(found: Mapping[str, Any]) -> str:
    """The JSON text without a closing newline."""
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)


def to_table(found: Mapping[str, Any]) -> str:
    """Requests, bandwidth, rows, latency with its histogram, commands, energy."""
    return "\n".join([setting(found), *says(found), *_latency(found["read_latency"])])


def setting(found: Mapping[str, Any]) -> str:
    """The trace and the memory that serves it."""
    memory = found["memory"]
    return (
        f"{found['trace']} on {memory['standard']}-{memory['speed_mts']}, {memory['channels']} x "
        f"{memory['width_bits']} b, {memory['mapping']}, rows {memory['rows']}"
        + (f" ({memory['row_timeout_ns']:g} ns)" if "row_timeout_ns" in memory else "")
        + f", refresh {memory['refresh']}, {memory['requests_per_cycle']:,} requests a cycle offered"
    )


def says(found: Mapping[str, Any]) -> list[str]:
    """What came of it: requests, bandwidth, rows, commands, energy."""
    return [
        f"{found['requests']:,} requests ({found['reads']:,} reads, {found['writes']:,} writes), "
        f"{found['cycles']:,} cycles, {si(found['time_s'], 's')}",
        f"bandwidth {si(found['bandwidth_bytes_per_s'], 'B/s')}, {100 * found['utilization']:.1f} % of "
        f"{si(found['peak_bytes_per_s'], 'B/s')}",
        f"rows      {100 * found['row_hit_rate']:.1f} % hits; {found['row_hits']:,} hits, "
        f"{found['row_misses']:,} misses, {found['row_conflicts']:,} conflicts",
        "commands  " + ", ".join(f"{name} {count:,}" for name, count in found["commands"].items()),
        *_energy(found["energy_j"], found["bytes"]),
    ]


def _energy(energy: Mapping[str, float], moved: int) -> list[str]:
    parts = ", ".join(f"{name} {si(value, 'J')}" for name, value in energy.items() if name != "total")
    per_bit = f", {energy['total'] * 1e12 / (8 * moved):.1f} pJ/bit" if moved else ""
    return [f"energy    {si(energy['total'], 'J')}{per_bit}: {parts}"]


def _latency(latency: Mapping[str, Any] | None) -> list[str]:
    if latency is None:
        return ["no reads"]
    named = [key.removesuffix("_ns") for key in latency if key.startswith("p")]
    shares = ", ".join(f"{name} {latency[name + '_ns']:.1f}" for name in named)
    lines = [
        f"read latency from acceptance, ns: mean {latency['mean_ns']:.1f}, least {latency['least_ns']:.1f}, {shares}, "
        f"most {latency['most_ns']:.1f}"
    ]
    most = max(row["reads"] for row in latency["histogram"])
    for row in latency["histogram"]:
        bar = "█" * max(1, round(BAR * row["reads"] / most))
        lines.append(f"  {row['from_ns']:8.0f} to {row['to_ns']:8.0f}  {bar:{BAR}} {row['reads']:,}")
    return lines
