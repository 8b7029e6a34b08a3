"""Sets of small numbers as the bits of a word."""

from __future__ import annotations

from typing import Any

from numba.cpython.unsafe.numbers import trailing_zeros

from archsim.kernels import inlined

lowest: Any = trailing_zeros  # of a set that is not empty: its least number


@inlined
def next_of(members: int, start: int, count: int) -> int:
    """The first member at or after ``start`` of ``count`` numbers, else the least one; the set is not empty."""
    if 0 < start < count:
        above = members >> start << start
        if above:
            return lowest(above)
    return lowest(members)
