"""What all standards share: speed grades, widths, capacities, and times in cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from archsim.base.errors import ConfigError
from archsim.base.units import PS_PER_S

_Grade = TypeVar("_Grade")
_BITS_PER_GBIT = 1 << 30
MOST_CHANNELS = 1 << 10  # native ones; eight HBM3 stacks have 128 of 64 b


@dataclass(frozen=True, slots=True)
class CommandClock:
    """A DRAM command clock, in Hz."""

    hz: int

    def cycles(self, time_ps: int, least: int = 1) -> int:
        """Cycles that cover ``time_ps``, at least ``least`` (JEDEC's "max(n nCK, t ns)")."""
        return max(least, -(-time_ps * self.hz // PS_PER_S))


def speed_grade(standard: str, grades: Mapping[int, _Grade], speed_mts: int) -> _Grade:
    """The grade of a speed; raises ConfigError with the speeds there are and the nearest."""
    if speed_mts in grades:
        return grades[speed_mts]
    near = min(sorted(grades), key=lambda speed: abs(speed - speed_mts))
    allowed = ", ".join(str(speed) for speed in sorted(grades))
    raise ConfigError(f"{standard}: speed: found {speed_mts} MT/s; allowed {allowed} MT/s (nearest {near} MT/s)")


def check_width(standard: str, width_bits: int, unit_bits: int, most_bits: int) -> None:
    """A channel's data width is a power of two times ``unit_bits``, up to ``most_bits``."""
    allowed = [unit_bits << n for n in range((most_bits // unit_bits).bit_length())]
    if width_bits not in allowed:
        raise ConfigError(f"{standard}: width: found {width_bits} b; allowed {', '.join(map(str, allowed))} b")


def check_counts(standard: str, channels: int, width_bits: int, native_bits: int, capacity_bytes: int) -> None:
    """Channels, 1 to as many as are ``MOST_CHANNELS`` native ones, and a positive capacity."""
    most = MOST_CHANNELS * native_bits // max(native_bits, width_bits)
    if not 1 <= channels <= most:
        raise ConfigError(f"{standard}: channels: found {channels}; allowed 1 to {most} of {width_bits} b")
    if capacity_bytes < 1:
        raise ConfigError(f"{standard}: capacity: found {capacity_bytes} B; allowed > 0 B")


def ranks_and_density(dies: int, capacity_bytes: int, densities_gbit: Mapping[int, object]) -> tuple[int, int]:
    """Ranks (a power of two) and die density in Gbit that hold ``capacity_bytes`` with ``dies`` dies in all
    channels.

    One rank of the smallest density that is large enough; when even the largest is too small, more ranks of
    that.
    """
    largest = max(densities_gbit)
    ranks = 1
    while capacity_bytes * 8 > dies * ranks * largest * _BITS_PER_GBIT:
        ranks *= 2
    fitting = [gbit for gbit in sorted(densities_gbit) if capacity_bytes * 8 <= dies * ranks * gbit * _BITS_PER_GBIT]
    return ranks, fitting[0]
