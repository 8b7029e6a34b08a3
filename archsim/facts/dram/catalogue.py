"""The DRAM standards that exist: one file each in ``standards/``, found by its name.

A standard's file defines ``dram(speed_mts, width_bits, channels, capacity_bytes) -> Dram``, SPEEDS_MTS and
USUAL_CHANNEL (width in bits, capacity in bytes of one channel).
"""

from __future__ import annotations

from typing import cast

from archsim.base import registry
from archsim.facts.dram.device import DramMemory

KIND = registry.Kind("DRAM standard", "archsim.facts.dram.standards", "dram_standards")


def names() -> tuple[str, ...]:
    """Names of all standards, sorted."""
    return tuple(registry.modules(KIND))


def dram(standard: str, speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """A standard at a speed: ``width_bits`` data bits a channel as a chip states them, capacity of all channels.

    Raises ConfigError for an unknown standard (with the nearest name), a speed or width the standard does not
    have (with those it has), or a capacity that cannot be.
    """
    module = registry.load(KIND, standard)
    return cast(DramMemory, module.dram(speed_mts, width_bits, channels, capacity_bytes))


def speeds_mts(standard: str) -> tuple[int, ...]:
    """The speeds that a standard has."""
    return tuple(registry.load(KIND, standard).SPEEDS_MTS)


def usual(standard: str) -> tuple[int, int]:
    """Width in bits and capacity in bytes of a usual channel of a standard."""
    width_bits, capacity_bytes = registry.load(KIND, standard).USUAL_CHANNEL
    return int(width_bits), int(capacity_bytes)
