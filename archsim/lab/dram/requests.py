"""Request traces from files: CSV or parquet with the columns cycle (or time_ns), address and write.

One request is one burst. ``cycle`` counts cycles of the command clock; ``time_ns`` is rounded up to the next.
Addresses are bytes, decimal or 0x..., at burst boundaries; ``write`` is 0 or 1, or R and W.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.errors import ConfigError, nearest

Numbers = npt.NDArray[np.int64]
_WRITES = {"0": 0, "1": 1, "r": 0, "w": 1, "rd": 0, "wr": 1, "read": 0, "write": 1, "false": 0, "true": 1}
_PS_PER_NS = 1000


@dataclass(frozen=True)
class Requests:
    """Arrival cycle, byte address and write flag of each request."""

    arrivals: Numbers
    addresses: Numbers
    writes: Numbers


def load(path: Path, clock_hz: int, burst_bytes: int, capacity_bytes: int) -> Requests:
    """The requests of a file; raises ConfigError (file:line) for the first one that cannot be."""
    table = _table(path)
    arrivals = _arrivals(path, table, clock_hz)
    addresses, writes = _integers(path, table, "address"), _flags(path, table)
    _check(path, arrivals < 0, arrivals, "cycle", "0 or more")
    falls = np.concatenate(([False], arrivals[1:] < arrivals[:-1]))
    _check(path, falls, arrivals, "cycle", "times that do not fall; sort the trace")
    outside = (addresses < 0) | (addresses + burst_bytes > capacity_bytes)
    _check(path, outside, addresses, "address", f"0 to {capacity_bytes - burst_bytes} (--capacity)")
    _check(path, addresses % burst_bytes != 0, addresses, "address", f"multiples of {burst_bytes} B, a burst")
    return Requests(arrivals, addresses, writes)


def _table(path: Path) -> Any:
    import pandas as pd

    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype=str)
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    if table.empty:
        raise ConfigError(f"{path}: no requests; needed are columns cycle or time_ns, address, write and a row each")
    for name in ("address", "write"):
        if name not in table:
            raise ConfigError(f"{path}:1: no column '{name}'{nearest(name, list(map(str, table.columns)))}")
    if ("cycle" in table) == ("time_ns" in table):
        raise ConfigError(f"{path}:1: needed is one of the columns 'cycle' and 'time_ns'")
    return table


def _arrivals(path: Path, table: Any, clock_hz: int) -> Numbers:
    if "cycle" in table:
        return _integers(path, table, "cycle")
    import pandas as pd

    times = pd.to_numeric(table["time_ns"], errors="coerce").to_numpy(np.float64)
    _check(path, ~np.isfinite(times), table["time_ns"].to_numpy(), "time_ns", "numbers")
    picoseconds = np.rint(times * _PS_PER_NS).astype(np.int64)
    return np.asarray([-(-int(ps) * clock_hz // 10**12) for ps in picoseconds], np.int64)


def _integers(path: Path, table: Any, name: str) -> Numbers:
    values = table[name].to_numpy()
    if values.dtype.kind in "iu":
        return np.asarray(values, np.int64)
    found = np.zeros(len(values), np.int64)
    wrong = np.zeros(len(values), bool)
    for i, text in enumerate(values.tolist()):
        try:
            found[i] = int(str(text), 0)
        except (ValueError, OverflowError):
            wrong[i] = True
    _check(path, wrong, values, name, "integers below 2^63, decimal or 0x...")
    return found


def _flags(path: Path, table: Any) -> Numbers:
    values = table["write"].to_numpy()
    texts = [_WRITES.get(str(value).strip().lower(), -1) for value in values.tolist()]
    found = np.asarray(texts, np.int64)
    _check(path, found < 0, values, "write", "0, 1, R, W")
    return found


def _check(path: Path, wrong: Any, values: Any, name: str, allowed: str) -> None:
    """Raise ConfigError for the first row that is wrong; rows are lines of the file below its header."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ConfigError(f"{path}:{row + 2}: {name}: found {values[row]}; allowed {allowed}")
