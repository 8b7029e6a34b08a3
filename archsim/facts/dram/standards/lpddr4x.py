"""LPDDR4X SDRAM (JESD209-4-1): LPDDR4 whose data pins run at 0.6 V (LVSTL_06) instead of 1.1 V.

Organisation, commands, latencies and timings are LPDDR4's (see _lpddr4): the addendum changes the interface alone, and
one data sheet of Micron (200b: x32 LPDDR4/LPDDR4X SDRAM, MT53D512M32D2) is of parts that are both, with 8 banks a
channel, burst length 16, read latency 32 and 36 (DBI off) and write latency 16 and 18 (set A) at 3733 and 4266 MT/s.
What differs is energy (configs/dram/lpddr4x.yaml). Not modelled: single-ended strobes of JESD209-4-1A.
"""

from __future__ import annotations

from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.standards._lpddr4 import SPEEDS_MTS, by_commands

__all__ = ["SPEEDS_MTS", "USUAL_CHANNEL", "dram"]
USUAL_CHANNEL = (16, 1 << 30)  # 8 Gb, as SK hynix' 16 Gb die of two channels (press release, 9 January 2017)


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """LPDDR4X at 1600 to 4267 MT/s, widths of 16 to 128 bits; raises ConfigError on anything else."""
    return by_commands("lpddr4x", speed_mts, width_bits, channels, capacity_bytes, "JESD209-4 with addendum 1")
