"""Request traces from files: CSV or parquet with the columns cycle (or time_ns), address and write.

One request is one burst. ``cycle`` counts cycles of the command clock; ``time_ns`` is rounded up to the next.
Addresses are bytes, decimal or 0x..., at burst boundaries; ``write`` is 0 or 1, or R and W.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.errors import ConfigError, nearest
from archsim.memory.dram.trace import LAST_CYCLE

Numbers = npt.NDArray[np.int64]
_WRITES = {"0": 0, "1": 1, "r": 0, "w": 1, "rd": 0, "wr": 1, "read": 0, "write": 1, "false": 0, "true": 1}
_TIMES = ("cycle", "time_ns")  # either
_PS_PER_NS = 1000
_LARGEST = (1 << 63) - 1
_WRITTEN = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]{1,32})|([0-9]{1,32}))")
_INTEGERS = "integers below 2^63, decimal or 0x..."
_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}


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
    _check(path, arrivals >= LAST_CYCLE, arrivals, "cycle", f"0 to {LAST_CYCLE - 1}")
    addresses, writes = _integers(path, table, "address"), _flags(path, table)
    _check(path, arrivals < 0, arrivals, "cycle", "0 or more")
    falls = np.concatenate(([False], arrivals[1:] < arrivals[:-1]))
    _check(path, falls, arrivals, "cycle", "times that do not fall; sort the trace")
    outside = (addresses < 0) | (addresses + burst_bytes > capacity_bytes)
    _check(
        path, outside, addresses, "address", f"0 to {(capacity_bytes // burst_bytes - 1) * burst_bytes} (--capacity)"
    )
    _check(path, addresses % burst_bytes != 0, addresses, "address", f"multiples of {burst_bytes} B, a burst")
    return Requests(arrivals, addresses, writes)


def _table(path: Path) -> Any:
    """The needed columns; a value that is not there is reported by its line."""
    import pandas as pd

    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else _csv(path)
    except (OSError, ValueError, Warning, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    if table.empty:
        raise ConfigError(f"{path}: no requests; needed are columns cycle or time_ns, address, write and a row each")
    table.columns = [str(name).strip() for name in table.columns]
    needed = _needed(path, list(table.columns))
    for name in needed:
        absent = table[name].isna().to_numpy()
        if absent.any():
            line = int(np.argmax(absent)) + 2
            raise ConfigError(f"{path}:{line}: no value for {name}; needed in each row are {', '.join(needed)}")
    return table[needed]


def _csv(path: Path) -> Any:
    """Text as it stands, a row for each line below the header; empty lines at the end do not count."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            table = pd.read_csv(path, dtype=str, index_col=False, skip_blank_lines=False)
        except (pd.errors.ParserWarning, pd.errors.ParserError):
            _check_lines(path)
            raise
    _check_separator(path, list(table.columns))
    filled = np.flatnonzero(table.notna().any(axis=1).to_numpy())
    return table.iloc[: int(filled[-1]) + 1 if filled.size else 0]


def _check_lines(path: Path) -> None:
    """Raise ConfigError for the first line with more values than there are names of columns."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        names = next(lines)
        _check_separator(path, names)
        for values in lines:
            if len(values) > len(names):
                raise ConfigError(
                    f"{path}:{lines.line_num}: found {len(values)} values; "
                    f"needed are {len(names)}, as the first line has names: {', '.join(names)}"
                )


def _check_separator(path: Path, names: Sequence[str]) -> None:
    """Raise ConfigError where the one name of a column is several, with something else than commas between them."""
    for sign, called in _SEPARATORS.items():
        if len(names) == 1 and sign in names[0]:
            raise ConfigError(f"{path}:1: found columns separated by {called}; needed are commas")


def _needed(path: Path, columns: list[str]) -> list[str]:
    """The columns to read; raises ConfigError naming a misspelt one, or one that is not there."""
    times = [name for name in _TIMES if name in columns]
    needed = [*(times or _TIMES[:1]), "address", "write"]
    for name in needed:
        if columns.count(name) > 1:
            raise ConfigError(f"{path}:1: column '{name}' twice")
        if name not in columns:
            raise ConfigError(f"{path}:1: {_absent(name, [other for other in columns if other not in needed])}")
    if len(times) > 1:
        raise ConfigError(f"{path}:1: found columns 'cycle' and 'time_ns'; needed is one of them")
    return needed


def _absent(name: str, others: list[str]) -> str:
    meant = _TIMES if name == "cycle" else (name,)
    for other in others:
        if hint := nearest(other, meant):
            return f"unknown column '{other}'{hint}"
    return f"no column {' or '.join(repr(each) for each in meant)}; the first line names the columns"


def _arrivals(path: Path, table: Any, clock_hz: int) -> Numbers:
    if "cycle" in table:
        return _integers(path, table, "cycle")
    import pandas as pd

    _check_kind(path, table["time_ns"].to_numpy(), "time_ns")
    times = pd.to_numeric(table["time_ns"], errors="coerce").to_numpy(np.float64)
    _check(path, ~np.isfinite(times), table["time_ns"].to_numpy(), "time_ns", "numbers")
    late = times * clock_hz >= LAST_CYCLE * 1e9
    _check(path, late, table["time_ns"].to_numpy(), "time_ns", f"times before cycle {LAST_CYCLE}")
    picoseconds = np.rint(times * _PS_PER_NS).astype(np.int64)
    return np.asarray([-(-int(ps) * clock_hz // 10**12) for ps in picoseconds], np.int64)


def _integers(path: Path, table: Any, name: str) -> Numbers:
    values = table[name].to_numpy()
    _check_kind(path, values, name)
    if values.dtype.kind in "iu":
        _check(path, values > _LARGEST, values, name, _INTEGERS)
        return np.asarray(values, np.int64)
    found = [_integer(str(value)) for value in values.tolist()]
    _check(path, np.array([each is None for each in found]), values, name, _INTEGERS)
    return np.asarray(found, np.int64)


def _integer(text: str) -> int | None:
    """The number, None where it is not written as one or does not fit."""
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        return None
    sign, hexadecimal, decimal = match.groups()
    number = int(hexadecimal, 16) if hexadecimal else int(decimal)
    return None if number > _LARGEST else -number if sign == "-" else number


def _check_kind(path: Path, values: Any, name: str) -> None:
    """Raise ConfigError for a typed column (parquet) of something else than numbers or text."""
    if values.dtype.kind not in "iufOUST":
        raise ConfigError(f"{path}: column '{name}': found {values.dtype}; allowed numbers")


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
