"""Sets of measured operators: one csv file for each, and sets.json, which says on which chip each was measured."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from archsim.base.errors import ConfigError, nearest

FILE = "sets.json"
COLUMNS = ("case", "op", "format", "shape", "time_us", "floor_us", "source")
TIMED = ("device", "launch")


@dataclass(frozen=True, slots=True)
class SiliconRow:
    """An operator that was measured. ``shape``: its sizes by name, or its words; ``floor_us``: resolution of the clock;
    ``place``: where it stands (file:line)."""

    case: str
    op: str
    format: str
    shape: Mapping[str, int | str]
    time_us: float
    floor_us: float
    place: str


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
    path = reference / FILE
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}; --reference needs a directory with {FILE} and NAME.csv") from error
    if not isinstance(listed, dict) or not all(isinstance(entry, dict) for entry in listed.values()):
        raise ConfigError(f"{path}: allowed a mapping of names of sets to mappings")
    for name in names:
        if name not in listed:
            raise ConfigError(f"{path}: no set '{name}'{nearest(name, listed)}; it has {', '.join(sorted(listed))}")
    return [_set(reference, path, name, listed[name]) for name in sorted(names or listed)]


def _set(reference: Path, path: Path, name: str, entry: Mapping[str, Any]) -> SiliconSet:
    for key in ("chip", "platform", "timed"):
        if not isinstance(entry.get(key), str):
            raise ConfigError(f"{path}: {name}.{key}: found {entry.get(key)!r}; allowed text")
    if entry["timed"] not in TIMED:
        raise ConfigError(f"{path}: {name}.timed: found '{entry['timed']}'; allowed {', '.join(TIMED)}")
    keys = entry.get("set", {})
    if not isinstance(keys, dict):
        raise ConfigError(f"{path}: {name}.set: found {keys!r}; allowed a mapping of the chip's keys to values")
    rows = tuple(_rows(reference / f"{name}.csv"))
    return SiliconSet(name, entry["chip"], entry["platform"], entry["timed"], keys, rows)


def _rows(path: Path) -> list[SiliconRow]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise ConfigError(f"{path}:1: no column '{missing[0]}'; needed: {', '.join(COLUMNS)}")
            found = [_row(row, f"{path}:{reader.line_num}") for row in reader]
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; {FILE} names the set") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a CSV file in UTF-8: {error}") from error
    if not found:
        raise ConfigError(f"{path}: no rows")
    return found


def _row(row: Mapping[str, str], place: str) -> SiliconRow:
    shape = dict(_size(pair, place) for pair in row["shape"].split())
    time_us, floor_us = _number(row["time_us"], "time_us", place), _number(row["floor_us"] or "0", "floor_us", place)
    if not time_us > 0:
        raise ConfigError(f"{place}: time_us: found {row['time_us']}; allowed more than 0")
    return SiliconRow(row["case"], row["op"], row["format"], shape, time_us, floor_us, place)


def _size(pair: str, place: str) -> tuple[str, int | str]:
    key, equals, value = pair.partition("=")
    if not equals or not key or not value:
        raise ConfigError(f"{place}: shape: found '{pair}'; allowed KEY=VALUE, blank separated")
    return key, int(value) if value.isascii() and value.isdigit() else value


def _number(text: str, column: str, place: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not isfinite(found) or found < 0:
        raise ConfigError(f"{place}: {column}: found '{text}'; allowed a number of microseconds")
    return found
