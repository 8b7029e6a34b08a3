"""The DRAM standards that exist: one file each in ``standards/``, found by its name.

A standard's file defines ``timing(speed_mts, width_bits, channels, capacity_bytes) -> DramTiming``.
"""

from __future__ import annotations

from typing import cast

from archsim import registry
from archsim.memory.dram.timing import DramTiming

_PACKAGE = "archsim.memory.dram.standards"


def names() -> tuple[str, ...]:
    """Names of all standards, sorted."""
    return tuple(registry.modules(_PACKAGE))


def timing(standard: str, speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramTiming:
    """Resolve a standard at a speed: ``speed_mts`` in MT/s, ``width_bits`` data bits per channel, total
    capacity.

    Raises ConfigError for an unknown standard (with the nearest name), a speed or width the standard does not
    have (with those it has), or a capacity that cannot be.
    """
    module = registry.load(_PACKAGE, standard)
    return cast(DramTiming, module.timing(speed_mts, width_bits, channels, capacity_bytes))
