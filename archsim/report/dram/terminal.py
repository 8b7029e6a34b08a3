"""A replayed trace as JSON and as a few lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from archsim.report.dram import layouts
from archsim.report.kit import table_terminal
from archsim.report.kit.number_format import si

SCHEMA = "archsim.dram/1"


def to_json(found: Mapping[str, Any]) -> str:
    """The JSON text without a closing newline."""
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)


def to_table(found: Mapping[str, Any], width: int | None = None) -> str:
    """Requests, bandwidth, rows, commands, energy, and the latency of reads; tables of ``width`` columns at most."""
    made = layouts.tables(found)
    lines = [setting(found), *says(found), *([] if found["read_latency"] else ["no reads"])]
    return "\n".join([*lines, *(line for table in made.values() for line in table_terminal.text(table, width))])


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
