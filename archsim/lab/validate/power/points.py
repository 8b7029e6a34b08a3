"""Published operating points of dies: ``power_points.csv`` beside ``dies.json``."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from archsim.base.errors import ConfigError, nearest
from archsim.lab.validate.area.dies import Die
from archsim.spec.nodes import bounded_text
from archsim.spec.part import IDLE_CLASSES

FILE = "power_points.csv"
IDLE, BUSY = STATES = ("idle", "busy")
_NUMBERS = ("watts", "macs_per_s", "volts_over_nominal", "dram_gb_per_s", "dram_pj_per_bit", "clock_ghz")
_RANGES = {"watts": (1e-6, 1e5), "volts_over_nominal": (0.2, 3), "clock_ghz": (1e-3, 100)}
FORMATS = ("int8", "int16", "int32", "fp8", "bf16", "fp16", "fp32")  # of which tables have energies
_MORE = "more"
_COLUMNS = ("point", "die", "state", "idle_class", "format", "activity", *_NUMBERS)


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """A die at work or idle. ``volts``: supply by the nominal one; ``dram_w``: of the bits that DRAM moves;
    ``activity``: where the work comes from, in words."""

    name: str
    die: str
    state: str
    idle_class: str
    watts: float
    macs_per_s: float
    dtype: str
    volts: float
    dram_w: float
    clock_ghz: float
    activity: str


def read(directory: Path, dies: Mapping[str, Die]) -> tuple[PublishedPoint, ...]:
    """The points of a directory; raises ConfigError with file and line for what it cannot read."""
    path = directory / FILE
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; the suite reads {FILE}")
    rows = csv.DictReader(bounded_text(path).splitlines(), restkey=_MORE, restval="")
    missing = sorted(set(_COLUMNS) - set(rows.fieldnames or ()))
    if missing:
        raise ConfigError(f"{path}:1: no column {', '.join(missing)}")
    found = tuple(_point(f"{path}:{rows.line_num}", row, dies) for row in rows)
    if not found:
        raise ConfigError(f"{path}: found no points")
    names = [point.name for point in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"{path}: two points are called {', '.join(twice)}; allowed one of a name")
    return found


def _point(where: str, row: Mapping[str, str], dies: Mapping[str, Die]) -> PublishedPoint:
    if _MORE in row:
        raise ConfigError(f"{where}: found more cells than columns (a comma in a cell needs quotes)")
    numbers = {key: _number(where, key, row[key]) for key in _NUMBERS}
    for key, (low, high) in _RANGES.items():
        if not low <= numbers[key] <= high:
            raise ConfigError(f"{where}: {key}: found {row[key]}; allowed a number {low:g} to {high:g}")
    return PublishedPoint(
        row["point"],
        _word(where, "die", row["die"], dies),
        _word(where, "state", row["state"], STATES),
        _word(where, "idle_class", row["idle_class"], IDLE_CLASSES),
        numbers["watts"],
        numbers["macs_per_s"],
        _word(where, "format", row["format"], FORMATS),
        numbers["volts_over_nominal"],
        numbers["dram_gb_per_s"] * 8e9 * numbers["dram_pj_per_bit"] * 1e-12,
        numbers["clock_ghz"],
        row["activity"],
    )


def _number(where: str, key: str, text: str) -> float:
    try:
        found = float(text)
    except (TypeError, ValueError):
        found = -1.0
    if not isfinite(found) or found < 0:
        raise ConfigError(f"{where}: {key}: found {text!r}; allowed a number from 0")
    return found


def _word(where: str, key: str, text: str, allowed: Iterable[str]) -> str:
    if text not in allowed:
        have = list(allowed)
        raise ConfigError(f"{where}: {key}: found {text!r}{nearest(str(text), have)}; allowed {', '.join(have)}")
    return text
