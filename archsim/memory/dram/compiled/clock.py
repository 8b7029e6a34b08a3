"""Edges of clocks in picoseconds and back, in 64 bits."""

from __future__ import annotations

from archsim.base.jit import njit
from archsim.base.units import PS_PER_S
from archsim.memory.dram.compiled.records import NEVER, AddressSpread

_HALF = 20  # bits by which factors are cut in two
_LAST_S = NEVER // PS_PER_S  # what is later is never


@njit
def edge(spread: AddressSpread, number: int) -> int:
    """The time of edge ``number`` of the memory's clock in ps."""
    if number // spread.clock_hz >= _LAST_S:
        return NEVER
    return scaled(number, PS_PER_S, spread.clock_hz, False)


@njit
def cycle(spread: AddressSpread, time_ps: int) -> int:
    """The number of the first edge at or after ``time_ps``."""
    return scaled(time_ps, spread.clock_hz, PS_PER_S, True)


@njit
def scaled(value: int, factor: int, divisor: int, up: bool) -> int:
    """value x factor / divisor, rounded down or up, in 64 bits: value >= 0, factor and divisor below 2^41."""
    whole, rest = value // divisor, value % divisor
    high, low = factor >> _HALF, factor & ((1 << _HALF) - 1)
    upper, left = rest * high // divisor, rest * high % divisor
    lower = (left << _HALF) + rest * low
    result = whole * factor + (upper << _HALF) + lower // divisor
    return result + (up and lower % divisor != 0)
