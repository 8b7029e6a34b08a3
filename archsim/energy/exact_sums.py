"""Energies as floating-point numbers whose sums are exact.

A total of E joules and its parts are put on one grid: multiples of the power of two that is E's last bit.
Sums of such numbers up to E need no more bits than a float has, so adding the parts gives the total bit for
bit, in any order and any grouping. Parts are rounded down to the grid and the rest goes to the largest
remainders, one step each, so a part differs from its exact value by less than 2^-52 of the total.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from math import frexp, ldexp
from typing import TypeVar

from archsim.energy.chip_tables import ZJ_PER_J

_BITS = 53
_Key = TypeVar("_Key", bound=Hashable)


def joules(total_zj: int, parts_zj: Mapping[_Key, int]) -> dict[_Key, float]:
    """``parts_zj`` (>= 0, summing to ``total_zj`` zeptojoules) in joules, in their order; sums are exact."""
    exponent = frexp(total_zj / ZJ_PER_J)[1] - _BITS
    step = Fraction(2) ** exponent * ZJ_PER_J
    cut = {name: divmod(part_zj * step.denominator, step.numerator) for name, part_zj in parts_zj.items()}
    floors = {name: floor for name, (floor, _) in cut.items()}
    rest = round(total_zj / step) - sum(floors.values())
    for name in sorted(cut, key=lambda name: -cut[name][1])[:rest]:
        floors[name] += 1
    return {name: ldexp(steps, exponent) for name, steps in floors.items()}


def total_joules(total_zj: int) -> float:
    """The total on its own grid: what the parts of ``joules`` sum to."""
    return joules(total_zj, {"total": total_zj})["total"]
