"""What the time and the energy of one run consist of; each view sums to the whole exactly.

Time is in cycles, or in seconds (cycles over the clock) where the runs to be compared have different clocks.

    slots      the run's time in the shares of its MAC slots (``mac_breakdown``)
    arrays     the mean array's time: 'busy', 'idle', ... and, layer by layer, 'cause.operand' of what it waited for
    critical   the critical path by layer and cause

Two totals that are split by the same keys become columns whose sums and differences are exact. Whole numbers stay
whole. Others are put on one grid for both columns, the power of two that is the larger total's last bit: sums and
differences on it need no more bits than a float has, so they hold bit for bit in any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import frexp
from typing import TypeVar

from archsim.ir.result import Summary, single_layers
from archsim.report.run.noc_rows import array_units

ShareKey = tuple[str, str]  # layer ('' for none), cause


def slots(summary: Summary, seconds: bool) -> dict[str, Fraction]:
    """Cause -> time, {} for a chip without arrays."""
    parts = summary["mac_breakdown"]
    whole = sum(parts.values())
    return {key: _time(summary, seconds) * size / whole for key, size in parts.items()} if whole else {}


def arrays(summary: Summary, seconds: bool) -> dict[ShareKey, Fraction]:
    """(layer, cause) -> time of the mean array, {} for a chip without arrays."""
    breakdown = summary["time_breakdown"]
    units = array_units(breakdown)
    cycle = _time(summary, seconds, 1) / max(len(units), 1)
    left: dict[str, int] = {}
    for unit in units:
        for cause, cycles in breakdown[unit].items():
            left[cause] = left.get(cause, 0) + cycles
    found: dict[ShareKey, int] = {}
    for layer in single_layers(summary) if units else ():
        for key, cycles in layer["stalls"].items():
            found[layer["name"], key] = cycles
            left[key.partition(".")[0]] = left.get(key.partition(".")[0], 0) - cycles
    found |= {("", cause): cycles for cause, cycles in left.items()}
    return {place: cycle * cycles for place, cycles in found.items() if cycles}


def critical(summary: Summary, seconds: bool) -> dict[ShareKey, Fraction]:
    """(layer, cause) -> time on the critical path; the cause is '' for cycles of which the summary does not have it."""
    cycle = _time(summary, seconds, 1)
    by_layer = summary["details"].get("critical", {})
    found: dict[ShareKey, Fraction] = {}
    for layer in single_layers(summary):
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


_BITS = 53
_Key = TypeVar("_Key", bound=Hashable)
Amounts = Mapping[_Key, Fraction]


@dataclass(frozen=True, slots=True)
class ComparePart:
    """What one key has of either total."""

    base: float
    other: float

    @property
    def difference(self) -> float:
        """other - base, exactly."""
        return self.other - self.base

    def to_json(self) -> dict[str, float]:
        """``base``, ``other``, ``difference``."""
        return {"base": self.base, "other": self.other, "difference": self.difference}


def split(base: Amounts[_Key], other: Amounts[_Key]) -> dict[_Key, ComparePart]:
    """The parts by key, in the order of ``base``, then of ``other``; those of absent keys are 0."""
    keys = [*base, *(key for key in other if key not in base)]
    columns = [{key: column.get(key, Fraction(0)) for key in keys} for column in (base, other)]
    step = _step(columns)
    left, right = (_on_grid(column, step) for column in columns)
    return {key: ComparePart(_number(left[key], step), _number(right[key], step)) for key in keys}


def _step(columns: list[dict[_Key, Fraction]]) -> Fraction:
    if all(amount.denominator == 1 for column in columns for amount in column.values()):
        return Fraction(1)
    total = max(sum(column.values(), Fraction(0)) for column in columns)
    return Fraction(2) ** (frexp(float(total))[1] - _BITS)


def _on_grid(column: dict[_Key, Fraction], step: Fraction) -> dict[_Key, int]:
    """Steps of each amount: rounded down, the rest of their sum to the largest remainders."""
    steps = {key: amount // step for key, amount in column.items()}
    rest = round(sum(column.values(), Fraction(0)) / step) - sum(steps.values())
    for key in sorted(column, key=lambda key: steps[key] - column[key] / step)[:rest]:
        steps[key] += 1
    return steps


def _number(steps: int, step: Fraction) -> float:
    return steps if step == 1 else float(steps * step)
