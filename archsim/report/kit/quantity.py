"""What the numbers of a result are in: by the row of the figure, else by the unit that the name ends in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NotRequired, get_args, get_origin, get_type_hints

from archsim.ir.figure_table import FIGURES, GROUPS
from archsim.ir.keys import COUNT as A_COUNT
from archsim.ir.keys import RATIO, ResultKey
from archsim.ir.result_parts import ArchitectureFacts, WorkloadFacts
from archsim.report.kit.number_format import NONE, count, number, percent, si

COUNT, SHARE = "1", "share"
_SHOWN = {A_COUNT: COUNT, RATIO: SHARE}  # units of keys that are none of a quantity -> how they are shown
PLAIN = {"mm2": "mm\N{SUPERSCRIPT TWO}", "USD": "USD", "1/s": "/s"}  # without prefixes -> as people write them
BY_ENDING = {
    "_bytes": "B", "_hz": "Hz", "_js": "J s", "_j": "J", "_w": "W", "_s": "s", "_mm2": "mm2", "_usd": "USD",
}  # fmt: skip


def unit_of(key: str) -> str | None:
    """``latency_s`` as 's', ``energy_breakdown_j.l1`` as 'J', shares as 'share', counts as '1'; None where neither a
    table nor the name says."""
    section, row = key.partition(".")[0], FIGURES.get(key)
    if row is not None:
        return _SHOWN.get(row.unit, row.unit)
    if section in GROUPS:
        return GROUPS[section].unit
    return _facts().get(key) or _ending(key) or _ending(section)


def _ending(name: str) -> str | None:
    """The unit that a name ends in."""
    if name.endswith("_per_s"):
        return None
    return next((unit for ending, unit in BY_ENDING.items() if name.endswith(ending)), None)


@cache
def _facts() -> Mapping[str, str]:
    """Units of the numbers that say what was run, and on what."""
    found = {}
    for section, kind in (("workload", WorkloadFacts), ("architecture", ArchitectureFacts)):
        for name, hint in get_type_hints(kind, include_extras=True).items():
            stated = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
            said = next(item for item in stated.__metadata__ if isinstance(item, ResultKey))
            found[f"{section}.{name}"] = _SHOWN.get(said.unit, said.unit)
    return found


def bare(key: str) -> str:
    """A figure as people call it: ``power_avg_w`` as 'power, average'; another key in words, without the unit that it
    ends in."""
    row = FIGURES.get(key)
    if row is not None:
        return row.label
    ending = next((ending for ending in ("_per_s", *BY_ENDING) if key.endswith(ending)), "")
    return key.removesuffix(ending).replace("_", " ")


def shown(key: str, value: Any) -> str:
    """A number of the result with its unit, for people; a dash where there is none."""
    return quantity(value, unit_of(key))


def quantity(value: Any, unit: str | None) -> str:
    """A number with its unit: prefixes where the unit takes them, shares in percent."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NONE
    if unit == SHARE:
        return percent(float(value))
    if unit in ("cycles", COUNT, None):
        return count(int(value)) if float(value).is_integer() else number(float(value))
    if unit in PLAIN:
        return f"{number(float(value))} {PLAIN[unit]}"
    return si(float(value), unit)
