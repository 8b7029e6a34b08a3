"""The file of predictions that is beside the sets of measured rows: what ``archsim validate silicon --out`` writes."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from archsim.base.errors import ConfigError


class PredictedRow(NamedTuple):
    """A row of the file. ``time_us``: None where it was not run, for ``reason``; ``command``: prints the time."""

    time_us: float | None
    command: str
    reason: str


def predicted_rows(path: Path) -> Mapping[tuple[str, str], PredictedRow]:
    """By set and case; raises ConfigError for a file that is damaged."""
    found: dict[tuple[str, str], PredictedRow] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                time_us = _time_us(row["predicted_us"]) if row["predicted_us"] != "" else None
                found[row["set"], row["case"]] = PredictedRow(time_us, row["command"] or "", row["not_run"] or "")
    except (OSError, csv.Error, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: {error}; archsim validate silicon --out DIR writes it") from error
    return found


def _time_us(text: str) -> float:
    found = float(text)
    if not isfinite(found) or found <= 0:
        raise ValueError(f"predicted_us: found '{text}'; allowed a time above 0")
    return found
