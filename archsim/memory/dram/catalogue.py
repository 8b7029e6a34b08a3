"""The DRAM standards that exist: one file each in ``standards/``, found by its name.

A standard's file defines ``timing(speed_mts, width_bits, channels, capacity_bytes) -> DramTiming``, SPEEDS_MTS and
USUAL_WIDTH_BITS; where it exists command by command also ``device`` with the same arguments and USUAL_CHANNEL (width in
bits, capacity in bytes).
"""

from __future__ import annotations

from typing import Any, cast

from archsim import registry
from archsim.errors import NotBuiltError
from archsim.memory.dram.device import Device, Dram
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


def by_commands() -> tuple[str, ...]:
    """Names of the standards that exist command by command."""
    return tuple(name for name in names() if hasattr(registry.load(_PACKAGE, name), "device"))


def speeds_mts(standard: str) -> tuple[int, ...]:
    """The speeds that a standard has."""
    return tuple(registry.load(_PACKAGE, standard).SPEEDS_MTS)


def usual_width_bits(standard: str) -> int:
    """Data bits of a channel as they are mostly built."""
    return int(registry.load(_PACKAGE, standard).USUAL_WIDTH_BITS)


def usual(standard: str) -> tuple[int, int]:
    """Width in bits and capacity in bytes of a usual channel of a standard."""
    module = _by_commands(standard)
    width_bits, capacity_bytes = module.USUAL_CHANNEL
    return int(width_bits), int(capacity_bytes)


def device(standard: str, speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> Device:
    """One channel of a standard command by command; as ``timing``, and NotBuiltError where only that exists."""
    return cast(Device, _by_commands(standard).device(speed_mts, width_bits, channels, capacity_bytes))


def dram(standard: str, speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> Dram:
    """A DRAM part; arguments and errors as ``timing``."""
    found = device(standard, speed_mts, {"lpddr5": 16, "hbm2": 128}.get(standard, width_bits), channels, capacity_bytes)
    return Dram(device=found, channels=channels, capacity_bytes=capacity_bytes, source="")


def _by_commands(standard: str) -> Any:
    module = registry.load(_PACKAGE, standard)
    if not hasattr(module, "device"):
        raise NotBuiltError(f"{standard}: not built command by command yet; these are: {', '.join(by_commands())}")
    return module
