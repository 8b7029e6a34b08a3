"""The DRAM standards that exist: one file each in ``standards/``, found by its name.

What such a file defines is ``DramStandard``; the energy of a standard is a table of its name in ``configs/dram``.
"""

from __future__ import annotations

from typing import Protocol, cast

from archsim.base import registry
from archsim.facts.dram.device import DramMemory


class DramStandard(Protocol):
    """What the file of a DRAM standard defines.

    ``SPEEDS_MTS``: the speeds that it has, in millions of transfers per second and pin. ``USUAL_CHANNEL``: width in
    bits and capacity in bytes of a usual channel.
    """

    SPEEDS_MTS: tuple[int, ...]
    USUAL_CHANNEL: tuple[int, int]

    def dram(self, speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
        """The standard at a speed: ``width_bits`` data bits of each channel, ``capacity_bytes`` of all of them.

        Raises ConfigError for a speed or width that the standard does not have and a capacity that cannot be.
        """


KIND = registry.Kind("DRAM standard", "archsim.facts.dram.standards", "dram_standards", "dram", DramStandard)


def names() -> tuple[str, ...]:
    """Names of all standards, sorted."""
    return tuple(registry.modules(KIND))


def dram(standard: str, speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """A standard at a speed: ``width_bits`` data bits a channel as a chip states them, capacity of all channels.

    Raises ConfigError for an unknown standard (with the nearest name), a speed or width the standard does not
    have (with those it has), or a capacity that cannot be.
    """
    return _standard(standard).dram(speed_mts, width_bits, channels, capacity_bytes)


def speeds_mts(standard: str) -> tuple[int, ...]:
    """The speeds that a standard has."""
    return _standard(standard).SPEEDS_MTS


def usual(standard: str) -> tuple[int, int]:
    """Width in bits and capacity in bytes of a usual channel of a standard."""
    return _standard(standard).USUAL_CHANNEL


def _standard(name: str) -> DramStandard:
    return cast(DramStandard, registry.load(KIND, name))
