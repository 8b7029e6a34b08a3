"""Sets of small numbers as the bits of a word."""

from __future__ import annotations

from archsim.base.addressed import trailing_zeros
from archsim.base.jit import inlined
from archsim.noc.compiled.records import NUMBER


@inlined
def lowest(members: int) -> int:
    """Of a set that is not empty: its least number."""
    found: int = NUMBER(trailing_zeros(NUMBER(members)))
    return found


@inlined
def next_of(members: int, start: int, count: int) -> int:
    """The first member at or after ``start`` of ``count`` numbers, else the least one; the set is not empty."""
    least = start if 0 <= start < count else 0
    above = NUMBER(members) >> least << least
    return lowest(above if above else NUMBER(members))
