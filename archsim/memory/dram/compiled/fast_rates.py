"""Whole numbers times rates, exactly: a rate is a fraction of any size.

The paces of crowds are fractions whose numbers have hundreds of digits. What is asked is the floor of a v, and whether
there is a rest. With v to 62 bits the product is known to less than one, so the floor is known unless a whole number
lies within what is left open. Whether a v reaches that number k is the sign of a NUMERATOR - k DENOMINATOR, which is
less than the denominator either way: so its last 64 bits tell it, where the denominator has less than 63. Where it has
more, no whole number is met but by chance, and Python is asked.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from archsim.base.jit import njit
from archsim.memory.dram.compiled.fast_records import (
    DENOMINATOR,
    FORWARD,
    INVERSE,
    LACKING,
    MANTISSA,
    NUMERATOR,
    RATE_WIDTH,
    ROUNDED,
    SCALE,
    SHIFT,
    SIDE_WIDTH,
)

BITS = 63  # of a mantissa
_32: Any = np.uint64(32)
_64: Any = np.uint64(64)
_LOW: Any = np.uint64((1 << 32) - 1)


def rate_row(pace: Fraction) -> Any:
    """The row of a pace: the work that each transfer gets in a picosecond."""
    row = np.zeros(RATE_WIDTH, np.int64)
    row[FORWARD : FORWARD + SIDE_WIDTH] = side(pace * SCALE)
    row[INVERSE : INVERSE + SIDE_WIDTH] = side(1 / (pace * SCALE))
    return row


def side(value: Fraction) -> list[int]:
    """A rate between 2^-63 and 2^61, as compiled code has it."""
    top, bottom = value.numerator, value.denominator
    shift = BITS - top.bit_length() + bottom.bit_length()
    if (top << shift) // bottom >= 1 << BITS:
        shift -= 1
    mantissa, rest = divmod(top << shift, bottom)
    low = top & (1 << 64) - 1
    return [mantissa, shift, rest != 0, low - (low >> 63 << 64), bottom if bottom < 1 << 63 else 0]


@njit
def floor_of(rates: Any, rate: int, at: int, a: int) -> tuple[int, int]:
    """The floor of a v, below 2^61, and 1 where there is a rest, else 0, for side ``at`` of a rate and 0 <= a < 2^62;
    LACKING in place of the rest where that cannot be told here."""
    mantissa, shift = np.uint64(rates[rate, at + MANTISSA]), np.uint64(rates[rate, at + SHIFT])
    factor = np.uint64(a)
    high, low = _product(factor, mantissa)
    floor = _shifted(high, low, shift)
    if not rates[rate, at + ROUNDED]:
        return floor, int(not _is_whole(high, low, shift))
    if a == 0:
        return 0, 0
    further = low + (factor - np.uint64(1))
    beyond = _shifted(high + np.uint64(further < low), further, shift)
    if beyond == floor:
        return floor, 1
    if rates[rate, at + DENOMINATOR] == 0:
        return beyond, LACKING
    left = a * rates[rate, at + NUMERATOR] - beyond * rates[rate, at + DENOMINATOR]
    return (beyond, int(left > 0)) if left >= 0 else (floor, 1)


@njit
def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """The high and the low word of a b."""
    a_high, a_low, b_high, b_low = a >> _32, a & _LOW, b >> _32, b & _LOW
    one, other = a_low * b_high, a_high * b_low
    middle = (a_low * b_low >> _32) + (one & _LOW) + (other & _LOW)
    return a_high * b_high + (one >> _32) + (other >> _32) + (middle >> _32), a * b


@njit
def _shifted(high: Any, low: Any, shift: Any) -> int:
    """The floor of two words divided by 2^shift, for 0 < shift < 128."""
    if shift >= _64:
        return int(np.int64(high >> (shift - _64)))
    return int(np.int64((high << (_64 - shift)) | (low >> shift)))


@njit
def _is_whole(high: Any, low: Any, shift: Any) -> bool:
    """Whether 2^shift divides them."""
    one = np.uint64(1)
    if shift >= _64:
        return bool(low == np.uint64(0) and high & ((one << (shift - _64)) - one) == np.uint64(0))
    return bool(low & ((one << shift) - one) == np.uint64(0))
