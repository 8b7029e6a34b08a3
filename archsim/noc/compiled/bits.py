"""Sets of small numbers as the bits of a word."""

from __future__ import annotations

from typing import Any

from numba.cpython.unsafe import numbers

from archsim.base.jit import inlined
from archsim.noc.compiled.records import NUMBER

_trailing_zeros: Any = numbers.trailing_zeros


@inlined
def lowest(members: int) -> int:
    """Of a set that is not empty: its least number."""
    found: int = NUMBER(_trailing_zeros(NUMBER(members)))
    return found


@inlined
def next_of(members: int, start: int, count: int) -> int:
    """The first member at or after ``start`` of ``count`` numbers, else the least one; the set is not empty."""
    least = start if 0 <= start < count else 0
    above = NUMBER(members) >> least << least
    return lowest(above if above else NUMBER(members))
