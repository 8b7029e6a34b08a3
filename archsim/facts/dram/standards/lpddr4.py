"""LPDDR4 SDRAM (JESD209-4); organisation, timings and their sources: see _lpddr4."""

from __future__ import annotations

from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.standards._lpddr4 import SPEEDS_MTS, USUAL_CHANNEL, by_commands

__all__ = ["SPEEDS_MTS", "USUAL_CHANNEL", "dram"]


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """LPDDR4 at 1600 to 4267 MT/s, widths of 16 to 128 bits; raises ConfigError on anything else."""
    return by_commands("lpddr4", speed_mts, width_bits, channels, capacity_bytes, "JESD209-4")
