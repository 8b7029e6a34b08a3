"""Rational numbers of any size in constant space: a value to 106 bits, and what it leaves modulo a prime.

Progress and paces of commands on shared ports are rational numbers whose denominators grow with every start and end.
What is asked of them is only how they compare: which level is lower, whether work is done, at which edge a command
ends. The rounded value (an unevaluated sum of two floating-point numbers) decides wherever two numbers differ; where
they are so near that it cannot, they are equal if their residues modulo ``PRIME`` are. Two different numbers that are
so near do not occur by chance; where they do, the answer is UNSURE, and whoever asked gives up rather than guess.

Sums and products are those of T. J. Dekker, A floating-point technique for extending the available precision, 1971.
Each number is (high part, low part, residue).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from archsim.base.jit import inlined, njit

Exact = tuple[float, float, Any]
PRIME = (1 << 61) - 1
_P: Any = np.uint64(PRIME)
_LOW31: Any = np.uint64((1 << 31) - 1)
_LOW30: Any = np.uint64((1 << 30) - 1)
_1: Any = np.uint64(1)
_30: Any = np.uint64(30)
_31: Any = np.uint64(31)
_61: Any = np.uint64(61)
_SPLIT = 134217729.0  # 2^27 + 1
NEAR = 1e-22  # relative: closer numbers are equal or not to be told apart
UNSURE = 2


@lru_cache(maxsize=4096)
def exact(value: Fraction | int) -> Exact:
    """``value`` as compiled code has it."""
    high = float(value)
    low = float(Fraction(value) - Fraction(high))
    return high, low, value.numerator * pow(value.denominator, -1, PRIME) % PRIME


@njit
def times_mod(a: Any, b: Any) -> Any:
    """a b modulo the prime, for residues."""
    a_high, a_low, b_high, b_low = a >> _31, a & _LOW31, b >> _31, b & _LOW31
    middle = a_low * b_high + a_high * b_low
    found = ((a_high * b_high) << _1) + (middle >> _30) + ((middle & _LOW30) << _31) + a_low * b_low
    found = (found >> _61) + (found & _P)
    return found - _P if found >= _P else found


@inlined
def _plus_mod(a: Any, b: Any) -> Any:
    found = a + b
    return found - _P if found >= _P else found


@inlined
def _minus_mod(a: Any, b: Any) -> Any:
    return a - b if a >= b else a + _P - b


@njit
def inverse_mod(a: Any) -> Any:
    """1 / a modulo the prime, by Fermat: a to the power of the prime less 2."""
    found, power = _1, a
    left = _P - np.uint64(2)
    while left:
        if left & _1:
            found = times_mod(found, power)
        power = times_mod(power, power)
        left = left >> _1
    return found


@inlined
def _joined(high: float, low: float, residue: Any) -> Exact:
    total = high + low
    return total, low - (total - high), residue


@inlined
def _error(a: float, b: float, product: float) -> float:
    """What the rounded ``product`` of a and b lacks."""
    c = _SPLIT * a
    a_high = c - (c - a)
    a_low = a - a_high
    d = _SPLIT * b
    b_high = d - (d - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit
def plus(x: Exact, y: Exact) -> Exact:
    """x + y."""
    high = x[0] + y[0]
    part = high - x[0]
    low = (x[0] - (high - part)) + (y[0] - part)
    return _joined(high, low + x[1] + y[1], _plus_mod(x[2], y[2]))


@njit
def minus(x: Exact, y: Exact) -> Exact:
    """x - y."""
    high = x[0] - y[0]
    part = high - x[0]
    low = (x[0] - (high - part)) - (y[0] + part)
    return _joined(high, low + x[1] - y[1], _minus_mod(x[2], y[2]))


@njit
def times(x: Exact, y: Exact) -> Exact:
    """x y."""
    high = x[0] * y[0]
    low = _error(x[0], y[0], high) + (x[0] * y[1] + x[1] * y[0])
    return _joined(high, low, times_mod(x[2], y[2]))


@njit
def ratio(x: Exact, y: Exact) -> tuple[float, float]:
    """x / y, rounded: without a residue."""
    first = x[0] / y[0]
    product = first * y[0]
    rest = (((x[0] - product) - _error(first, y[0], product)) + x[1]) - first * y[1]
    second = rest / y[0]
    total = first + second
    return total, second - (total - first)


@njit
def whole(value: int) -> Exact:
    """A whole number that is not negative."""
    high = float(value)
    return high, float(value - np.int64(high)), np.uint64(value) % _P


@njit
def sign(x: Exact, scale: float) -> int:
    """-1, 0 or 1 as x is below, at or above 0; UNSURE where that cannot be told. ``scale``: of what x is left."""
    if abs(x[0]) > NEAR * scale:
        return 1 if x[0] > 0.0 else -1
    return 0 if x[2] == 0 else UNSURE
