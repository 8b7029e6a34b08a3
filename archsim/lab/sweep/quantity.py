"""Quantities of the files of a sweep: durations up to hours, sizes."""

from __future__ import annotations

from archsim.base import units

DURATION = units.Kind(
    "time", "ps", {**units.TIME.units, "min": 60 * units.TIME.units["s"], "h": 3600 * units.TIME.units["s"]}
)
