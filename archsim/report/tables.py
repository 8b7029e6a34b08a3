"""layers.csv: a row per layer with the columns of the summary's ``layers``; lists and stalls are one cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

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
    "stalls": "cycles",
}


def layers_csv(summary: Mapping[str, Any]) -> str:
    """The table as CSV text (RFC 4180 quoting, newlines); ``stalls`` as ``cause.operand=cycles`` pairs."""
    out = io.StringIO()
    rows = summary["layers"]
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else ["name"], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ";".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ";".join(str(item) for item in value)
    return "" if value is None else value
