"""Sets of measured operators: one csv file for each, and sets.json, which says on which chip each was measured.

A case may stand in a set more than once where it was measured more than once. ``floor_us``, the resolution of the
clock, ``source`` and the watts tell readers of the file how a row came about; rows are scored without them.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archsim.base.errors import ConfigError, nearest

FILE = "sets.json"
PREDICTED = "silicon.csv"  # what ``archsim validate silicon --out`` writes of all rows
COLUMNS = ("case", "op", "format", "shape", "time_us", "floor_us", "source")
BESIDE = ("power_w", "power_limit_w")
KEYS = ("chip", "platform", "timed", "rows", "set")
TIMED = ("device", "launch")
DIMS, NONE = "dims", "-"
LEAST_US, MOST_US = 1e-6, 1e12  # a picosecond, which is what runs count, and eleven days
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class SiliconRow:
    """An operator that was measured. ``shape``: its sizes by name, or its words; ``dims``: instead of these, in the
    order of the operator; ``place``: where it stands (file:line)."""

    case: str
    op: str
    format: str
    shape: Mapping[str, int | str]
    time_us: float
    place: str
    dims: tuple[int | str, ...] = ()

    @property
    def work(self) -> tuple[object, ...]:
        """What ran, whatever time it took."""
        return self.op, self.format, self.shape, self.dims


@dataclass(frozen=True, slots=True)
class SiliconSet:
    """Rows of one chip. ``platform``: whose kernels ran; ``timed``: with a framework's launch, or the kernel alone
    (``device``); ``keys``: of the chip, where it was set apart."""

    name: str
    chip: str
    platform: str
    timed: str
    keys: Mapping[str, object]
    rows: tuple[SiliconRow, ...]


def read(reference: Path, names: tuple[str, ...] = ()) -> list[SiliconSet]:
    """The sets of a directory, or those that are named; raises ConfigError for what cannot be read."""
    path, listed = reference / FILE, _listed(reference / FILE)
    for name, times in Counter(names).items():
        if name not in listed:
            raise ConfigError(f"{path}: no set '{name}'{nearest(name, listed)}; it has {', '.join(sorted(listed))}")
        if times > 1:
            raise ConfigError(f"{path}: set '{name}' asked for {times} times; allowed once")
    return [_set(reference, path, name, listed[name]) for name in sorted(names or listed)]


def names_of(reference: Path, chip: str) -> tuple[str, ...]:
    """The sets of a directory that were measured on a chip; raises ConfigError where its list cannot be read."""
    return tuple(sorted(name for name, entry in _listed(reference / FILE).items() if entry.get("chip") == chip))


def _listed(path: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}; --reference needs a directory with {FILE} and NAME.csv") from error
    if not isinstance(listed, dict) or not listed or not all(isinstance(entry, dict) for entry in listed.values()):
        raise ConfigError(f"{path}: allowed a mapping of names of sets to mappings, one at least")
    return listed


def _set(reference: Path, path: Path, name: str, entry: Mapping[str, Any]) -> SiliconSet:
    place = f"{path}: {name}"
    _check_entry(entry, place)
    rows = tuple(_rows(reference / f"{name}.csv"))
    if entry.get("rows", len(rows)) != len(rows):
        raise ConfigError(f"{place}.rows: found {entry['rows']!r}; {name}.csv has {len(rows)}")
    return SiliconSet(name, entry["chip"], entry["platform"], entry["timed"], entry.get("set", {}), rows)


def _check_entry(entry: Mapping[str, Any], place: str) -> None:
    for key in entry:
        if key not in KEYS:
            raise ConfigError(f"{place}: no key '{key}'{nearest(key, KEYS)}; allowed {', '.join(KEYS)}")
    for key in ("chip", "platform", "timed"):
        if not isinstance(entry.get(key), str):
            raise ConfigError(f"{place}.{key}: found {entry.get(key)!r}; allowed text")
    if entry["timed"] not in TIMED:
        raise ConfigError(f"{place}.timed: found '{entry['timed']}'; allowed {', '.join(TIMED)}")
    keys = entry.get("set", {})
    if not isinstance(keys, dict):
        raise ConfigError(f"{place}.set: found {keys!r}; allowed a mapping of the chip's keys to values")
    if "platform" in keys:
        raise ConfigError(f"{place}.set: found 'platform', which the set states beside it; allowed other keys")


def _rows(path: Path) -> list[SiliconRow]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            _check_heading(reader.fieldnames or (), path)
            found = [_row(row, f"{path}:{reader.line_num}") for row in reader]
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; {FILE} names the set") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a CSV file in UTF-8: {error}") from error
    if not found:
        raise ConfigError(f"{path}: no rows")
    _check_cases(found)
    return found


def _check_heading(heading: Sequence[str], path: Path) -> None:
    for column in COLUMNS:
        if column not in heading:
            raise ConfigError(f"{path}:1: no column '{column}'; needed: {', '.join(COLUMNS)}")
    for column, times in Counter(heading).items():
        if column not in (*COLUMNS, *BESIDE) or times > 1:
            what = f"column '{column}'{f' {times} times' if times > 1 else ''}"
            raise ConfigError(f"{path}:1: found {what}; allowed once each: {', '.join((*COLUMNS, *BESIDE))}")


def _check_cases(rows: Iterable[SiliconRow]) -> None:
    seen: dict[str, SiliconRow] = {}
    for row in rows:
        first = seen.setdefault(row.case, row)
        if row.work != first.work:
            raise ConfigError(
                f"{row.place}: case: found '{row.case}', which is another operator at {first.place}; allowed one "
                "operator, format and shape for a case"
            )


def _row(row: Mapping[str, str], place: str) -> SiliconRow:
    if None in row:
        raise ConfigError(f"{place}: more cells than columns; allowed text with commas in quotation marks")
    for column in ("case", "op", "format"):
        if not row[column]:
            raise ConfigError(f"{place}: {column}: found nothing; allowed text")
    shape, dims = _shape(row["shape"], place)
    return SiliconRow(row["case"], row["op"], row["format"], shape, _time(row["time_us"], place), place, dims)


def _shape(text: str, place: str) -> tuple[dict[str, int | str], tuple[int | str, ...]]:
    """Sizes by name, and those of ``dims``."""
    found: dict[str, str] = {}
    for pair in text.split():
        key, equals, value = pair.partition("=")
        if not equals or not key or not value:
            raise ConfigError(f"{place}: shape: found '{pair}'; allowed KEY=VALUE, blank separated")
        if key in found:
            raise ConfigError(f"{place}: shape: found {key}={found[key]} and {pair}; allowed each size once")
        found[key] = value
    if DIMS in found and len(found) > 1:
        raise ConfigError(f"{place}: shape: found {DIMS}={found[DIMS]} beside other sizes; allowed by itself")
    dims = found.pop(DIMS, NONE)
    sizes = () if dims == NONE else tuple(_size(value, place) for value in dims.split("x"))
    return {key: _size(value, place) for key, value in found.items()}, sizes


def _size(text: str, place: str) -> int | str:
    """A whole size, or a word."""
    if not text.isdigit():
        return text
    if not text.isascii() or len(text) > _MOST_DIGITS:
        raise ConfigError(f"{place}: shape: found '{text[:20]}'; allowed sizes of 1 to {_MOST_DIGITS} digits 0 to 9")
    return int(text)


def _time(text: str, place: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not LEAST_US <= found <= MOST_US:
        raise ConfigError(f"{place}: time_us: found '{text[:20]}'; allowed {LEAST_US:g} to {MOST_US:g} microseconds")
    return found
