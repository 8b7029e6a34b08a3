"""What the time and the energy of one run consist of; each view sums to the whole exactly.

Time is in cycles, or in seconds (cycles over the clock) where the runs to be compared have different clocks.

    slots      the run's time in the shares of its MAC slots (``mac_breakdown``)
    arrays     the mean array's time: 'busy', 'idle', ... and, layer by layer, 'cause.operand' of what it waited for
    critical   the critical path by layer and cause
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from archsim.report.noc_rows import array_units

Summary = Mapping[str, Any]
Place = tuple[str, str]  # layer ('' for none), cause


def slots(summary: Summary, seconds: bool) -> dict[str, Fraction]:
    """Cause -> time, {} for a chip without arrays."""
    parts = summary["mac_breakdown"]
    whole = sum(parts.values())
    return {key: _time(summary, seconds) * size / whole for key, size in parts.items()} if whole else {}


def arrays(summary: Summary, seconds: bool) -> dict[Place, Fraction]:
    """(layer, cause) -> time of the mean array, {} for a chip without arrays."""
    breakdown = summary["time_breakdown"]
    units = array_units(breakdown)
    cycle = _time(summary, seconds, 1) / max(len(units), 1)
    left: dict[str, int] = {}
    for unit in units:
        for cause, cycles in breakdown[unit].items():
            left[cause] = left.get(cause, 0) + cycles
    found: dict[Place, int] = {}
    for layer in summary["layers"] if units else ():
        for key, cycles in layer["stalls"].items():
            found[layer["name"], key] = cycles
            left[key.partition(".")[0]] = left.get(key.partition(".")[0], 0) - cycles
    found |= {("", cause): cycles for cause, cycles in left.items()}
    return {place: cycle * cycles for place, cycles in found.items() if cycles}


def critical(summary: Summary, seconds: bool) -> dict[Place, Fraction]:
    """(layer, cause) -> time on the critical path; the cause is '' for cycles of which the summary does not have it."""
    cycle = _time(summary, seconds, 1)
    by_layer = summary["details"].get("critical", {})
    found: dict[Place, Fraction] = {}
    for layer in summary["layers"]:
        name, causes = layer["name"], by_layer.get(layer["name"], {})
        known = {**causes, "": layer["cycles_critical"] - sum(causes.values())}
        found |= {(name, cause): cycle * cycles for cause, cycles in known.items() if cycles}
    return found


def energy(summary: Summary) -> dict[str, Fraction]:
    """Part -> joules."""
    return {part: Fraction(joules) for part, joules in summary["energy_breakdown_j"].items()}


def area(summary: Summary) -> dict[str, Fraction]:
    """Part -> mm2, {} where the summary has no areas."""
    return {part: Fraction(mm2) for part, mm2 in summary["details"].get("area_breakdown_mm2", {}).items()}


def total(summary: Summary, seconds: bool) -> Fraction:
    """The run's time."""
    return _time(summary, seconds)


def _time(summary: Summary, seconds: bool, cycles: int | None = None) -> Fraction:
    count = summary["cycles_total"] if cycles is None else cycles
    return Fraction(count, summary["architecture"]["clock_hz"]) if seconds else Fraction(count)
