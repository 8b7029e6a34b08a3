"""Sets of small numbers as the bits of a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from archsim.kernels import inlined


@inlined
def lowest(members: int) -> int:
    """Of a set that is not empty: its least number."""
    return np.int64(trailing_zeros(np.int64(members)))


@inlined
def next_of(members: int, start: int, count: int) -> int:
    """The first member at or after ``start`` of ``count`` numbers, else the least one; the set is not empty."""
    least = start if 0 <= start < count else 0
    above = np.int64(members) >> least << least
    return lowest(above if above else np.int64(members))
