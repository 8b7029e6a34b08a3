"""Two totals split by the same keys, as numbers whose columns and differences sum exactly.

Whole numbers stay whole. Others are put on one grid for both columns, the power of two that is the larger total's last
bit: sums and differences on it need no more bits than a float has, so they hold bit for bit in any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import frexp
from typing import TypeVar

_BITS = 53
Key = TypeVar("Key", bound=Hashable)
Amounts = Mapping[Key, Fraction]


@dataclass(frozen=True, slots=True)
class Part:
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


def split(base: Amounts[Key], other: Amounts[Key]) -> dict[Key, Part]:
    """The parts by key, in the order of ``base``, then of ``other``; those of absent keys are 0."""
    keys = [*base, *(key for key in other if key not in base)]
    columns = [{key: column.get(key, Fraction(0)) for key in keys} for column in (base, other)]
    step = _step(columns)
    left, right = (_on_grid(column, step) for column in columns)
    return {key: Part(_number(left[key], step), _number(right[key], step)) for key in keys}


def _step(columns: list[dict[Key, Fraction]]) -> Fraction:
    if all(amount.denominator == 1 for column in columns for amount in column.values()):
        return Fraction(1)
    total = max(sum(column.values(), Fraction(0)) for column in columns)
    return Fraction(2) ** (frexp(float(total))[1] - _BITS)


def _on_grid(column: dict[Key, Fraction], step: Fraction) -> dict[Key, int]:
    """Steps of each amount: rounded down, the rest of their sum to the largest remainders."""
    steps = {key: amount // step for key, amount in column.items()}
    rest = round(sum(column.values(), Fraction(0)) / step) - sum(steps.values())
    for key in sorted(column, key=lambda key: steps[key] - column[key] / step)[:rest]:
        steps[key] += 1
    return steps


def _number(steps: int, step: Fraction) -> float:
    return steps if step == 1 else float(steps * step)
