"""Knuth's lagged Fibonacci generators, of integers below 2**30 and of fractions with 52 bits.

X_j = (X_{j-100} - X_{j-37}) mod 2**30 and U_j = (U_{j-100} + U_{j-37}) mod 1; of each 1009 numbers the first 100 are
used. Source: D. E. Knuth, The Art of Computer Programming, volume 2, 3rd edition, section 3.6 (ran_array, as revised in
2002). The reference curves of network latency were measured with it: equal seeds give equal packets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import inlined, njit
from archsim.noc.compiled.records import INDEX

LONG, SHORT = 100, 37  # lags
QUALITY = 1009  # numbers made for the first LONG that are used
_MODULUS = 1 << 30
_BLOCK = 36  # numbers that do not need one another, and fill the lanes of vectors
_DOUBLINGS = 70  # of the distance between the streams of two seeds
_ULP = 2.0**-52


class RandomStreams(NamedTuple):
    """Both streams: of each the LONG numbers to be used, with room for those that follow, and which is next."""

    integers: Any
    fractions: Any
    places: Any


def generator(seed: int) -> RandomStreams:
    """Both streams of ``seed``, an integer from 0 to 2**30 - 3."""
    integers, fractions = np.zeros(QUALITY + LONG, np.int64), np.zeros(QUALITY + LONG)
    integers[:LONG], fractions[:LONG] = _start(seed), _start_fractions(seed)
    for _ in range(10):
        _pass(integers, 2 * LONG - 1, _difference)
        _pass(fractions, 2 * LONG - 1, _sum)
    return RandomStreams(integers, fractions, np.zeros(2, np.int64))


@njit
def pass_integers(numbers: Any, count: int) -> None:
    """From the stream's next LONG numbers to those that come ``count`` later."""
    for start in range(LONG, count + LONG, _BLOCK):
        end = min(start + _BLOCK, count + LONG)
        _subtract(numbers[start - LONG : end - LONG], numbers[start - SHORT : end - SHORT], numbers[start:end])
    for i in range(LONG):
        numbers[i] = numbers[i + count]


@njit
def pass_fractions(numbers: Any, count: int) -> None:
    """From the stream's next LONG numbers to those that come ``count`` later."""
    for start in range(LONG, count + LONG, _BLOCK):
        end = min(start + _BLOCK, count + LONG)
        _add(numbers[start - LONG : end - LONG], numbers[start - SHORT : end - SHORT], numbers[start:end])
    for i in range(LONG):
        numbers[i] = numbers[i + count]


@njit
def _subtract(far: Any, near: Any, made: Any) -> None:
    for i in range(made.size):
        made[i] = (far[i] - near[i]) & (_MODULUS - 1)


@njit
def _add(far: Any, near: Any, made: Any) -> None:
    for i in range(made.size):
        total = far[i] + near[i]
        made[i] = total - 1.0 if total >= 1.0 else total


@inlined
def below(streams: Any, count: int) -> int:
    """The next integer modulo ``count``."""
    place = streams.places[0]
    if place == LONG:
        pass_integers(streams.integers, QUALITY)
        place = 0
    streams.places[0] = place + 1
    found: int = INDEX(streams.integers[INDEX(place)]) % INDEX(count)
    return found


@inlined
def fraction(streams: Any) -> float:
    """The next fraction."""
    place = streams.places[1]
    if place == LONG:
        pass_fractions(streams.fractions, QUALITY)
        place = 0
    streams.places[1] = place + 1
    found: float = streams.fractions[INDEX(place)]
    return found


def _pass(numbers: Any, count: int, combine: Any) -> None:
    """As the compiled ones, which would have to be loaded for it."""
    for start in range(LONG, count + LONG, _BLOCK):
        end = min(start + _BLOCK, count + LONG)
        numbers[start:end] = combine(numbers[start - LONG : end - LONG], numbers[start - SHORT : end - SHORT])
    numbers[:LONG] = numbers[count : count + LONG]


def _difference(a: Any, b: Any) -> Any:
    return (a - b) & (_MODULUS - 1)


def _sum(a: Any, b: Any) -> Any:
    return (a + b) - np.floor(a + b)


def _start(seed: int) -> Any:
    first = (seed + 2) & (_MODULUS - 2)
    values = []
    for _ in range(LONG):
        values.append(first)
        first <<= 1
        first -= _MODULUS - 2 if first >= _MODULUS else 0
    values[1] += 1
    return _spread(np.array(values, np.int64), seed & (_MODULUS - 1), _difference)


def _start_fractions(seed: int) -> Any:
    first = 2.0 * _ULP * ((seed & (_MODULUS - 1)) + 2)
    values = []
    for _ in range(LONG):
        values.append(first)
        first += first
        first -= 1.0 - 2 * _ULP if first >= 1.0 else 0.0
    values[1] += _ULP
    return _spread(np.array(values), seed & (_MODULUS - 1), _sum)


def _spread(values: Any, steps: int, combine: Any) -> Any:
    """The polynomial of the first values, squared and shifted by the bits of the seed: streams lie far apart."""
    x = np.zeros(2 * LONG - 1, values.dtype)
    x[:LONG] = values
    left = _DOUBLINGS - 1
    while left:
        x[2 : 2 * LONG - 1 : 2] = x[1:LONG].copy()
        x[1 : 2 * LONG - 1 : 2] = 0
        for high in (x[2 * LONG - SHORT :], x[LONG : 2 * LONG - SHORT]):  # neither changes itself
            end = 2 * LONG - 1 if high.size < SHORT else 2 * LONG - SHORT
            for lag in (LONG - SHORT, LONG):
                low = x[end - high.size - lag : end - lag]
                low[:] = combine(low, high)
        if steps & 1:
            x[1 : LONG + 1] = x[:LONG].copy()
            x[0] = x[LONG]
            x[SHORT] = combine(x[SHORT], x[LONG])
        if steps:
            steps >>= 1
        else:
            left -= 1
    return np.concatenate([x[SHORT:LONG], x[:SHORT]])
