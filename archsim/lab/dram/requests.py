"""Request traces from files: CSV or parquet with the columns cycle (or time_ns), address and write.

One request is one burst. ``cycle`` counts cycles of the command clock; ``time_ns`` is rounded up to the next.
Addresses are bytes, decimal or 0x..., at burst boundaries; ``write`` is 0 or 1, or R and W.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from archsim.lab.kit.trace_table import Numbers, check, check_kind, integers, read
from archsim.memory.dram.trace import LAST_CYCLE

_WRITES = {"0": 0, "1": 1, "r": 0, "w": 1, "rd": 0, "wr": 1, "read": 0, "write": 1, "false": 0, "true": 1}
_TIMES = ("cycle", "time_ns")  # either
_PS_PER_NS = 1000


@dataclass(frozen=True)
class Requests:
    """Arrival cycle, byte address and write flag of each request."""

    arrivals: Numbers
    addresses: Numbers
    writes: Numbers


def load(path: Path, clock_hz: int, burst_bytes: int, capacity_bytes: int) -> Requests:
    """The requests of a file; raises ConfigError (file:line) for the first one that cannot be."""
    table = read(path, _TIMES, ("address", "write"), "requests")
    arrivals = _arrivals(path, table, clock_hz)
    check(path, arrivals >= LAST_CYCLE, arrivals, "cycle", f"0 to {LAST_CYCLE - 1}")
    addresses, writes = integers(path, table, "address"), _flags(path, table)
    check(path, arrivals < 0, arrivals, "cycle", "0 or more")
    falls = np.concatenate(([False], arrivals[1:] < arrivals[:-1]))
    check(path, falls, arrivals, "cycle", "times that do not fall; sort the trace")
    outside = (addresses < 0) | (addresses + burst_bytes > capacity_bytes)
    check(path, outside, addresses, "address", f"0 to {(capacity_bytes // burst_bytes - 1) * burst_bytes} (--capacity)")
    check(path, addresses % burst_bytes != 0, addresses, "address", f"multiples of {burst_bytes} B, a burst")
    return Requests(arrivals, addresses, writes)


def _arrivals(path: Path, table: Any, clock_hz: int) -> Numbers:
    if "cycle" in table:
        return integers(path, table, "cycle")
    import pandas as pd

    check_kind(path, table["time_ns"].to_numpy(), "time_ns")
    times = pd.to_numeric(table["time_ns"], errors="coerce").to_numpy(np.float64)
    check(path, ~np.isfinite(times), table["time_ns"].to_numpy(), "time_ns", "numbers")
    late = times * clock_hz >= LAST_CYCLE * 1e9
    check(path, late, table["time_ns"].to_numpy(), "time_ns", f"times before cycle {LAST_CYCLE}")
    picoseconds = np.rint(times * _PS_PER_NS).astype(np.int64)
    return np.asarray([-(-int(ps) * clock_hz // 10**12) for ps in picoseconds], np.int64)


def _flags(path: Path, table: Any) -> Numbers:
    values = table["write"].to_numpy()
    texts = [_WRITES.get(str(value).strip().lower(), -1) for value in values.tolist()]
    found = np.asarray(texts, np.int64)
    check(path, found < 0, values, "write", "0, 1, R, W")
    return found
