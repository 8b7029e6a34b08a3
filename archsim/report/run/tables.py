"""The table of layers: the columns of the summary's ``layers``, and those that ``details`` has by layer."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from archsim.base.plain import cell

# What a bare number of the column is in; columns without one are names, counts or shares.
UNITS = {
    "cycles_start": "cycles",
    "cycles_end": "cycles",
    "cycles_total": "cycles",
    "cycles_critical": "cycles",
    "energy_j": "J",
    "dram_read_bytes": "B",
    "dram_write_bytes": "B",
    "macs": "MAC",
    "utilization": "1",
    "row_hit_rate": "1",
    "bound_cycles": "cycles",
    "alone_cycles": "cycles",
    "stalls": "cycles",
}


def layer_table(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row per layer; ``row_hit_rate``: share of its DRAM bursts that found their row open, None without bursts;
    ``bound_cycles``: the analytic bound of its mapping; ``alone_cycles``: simulated by itself for that choice, or None.
    """
    rates, predicted = summary["details"].get("row_hit_rate", {}), summary["details"].get("predicted", {})
    return [
        {
            **layer,
            "row_hit_rate": rates.get(layer["name"]),
            **{key: predicted.get(layer["name"], {}).get(key) for key in ("bound_cycles", "alone_cycles")},
        }
        for layer in summary["layers"]
    ]


def layers_csv(summary: Mapping[str, Any]) -> str:
    """The table as CSV text (RFC 4180 quoting, newlines); lists are one cell, ``stalls`` as
    ``cause.operand=cycles`` pairs."""
    out = io.StringIO()
    rows = layer_table(summary)
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else ["name"], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: cell(flat(value)) for key, value in row.items()})
    return out.getvalue()


def flat(value: Any) -> Any:
    """A value as one cell: ``cause=cycles`` pairs, lists and nothing as text."""
    if isinstance(value, Mapping):
        return ";".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ";".join(str(item) for item in value)
    return "" if value is None else value
