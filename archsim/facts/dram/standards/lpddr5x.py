"""LPDDR5X SDRAM (JESD209-5B): LPDDR5 at 7500 to 10667 MT/s, channels of 16 bits, bank group mode only.

Nanoseconds, densities, refreshes and commands are LPDDR5's (see lpddr5, whose 6400 MT/s are a reference
configuration). Read and write latency, set 0 and set A, in CK: 20 and 11 at 7500, 23 and 12 at 8533: JESD209-5B as
recalled, marked estimated (RL is 21.3 to 21.6 ns, as LPDDR5's at each of its speeds); 26 and 14 at 9600, 29 and 15
at 10667 MT/s: estimated, the same nanoseconds. Not modelled: the enhanced DVFSC and WCK always-on modes.
"""

from __future__ import annotations

from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.standards._lpddr5 import Lpddr5Grade, by_commands
from archsim.facts.dram.standards._resolve import speed_grade

_GRADES = {7500: (20, 11), 8533: (23, 12), 9600: (26, 14), 10667: (29, 15)}  # MT/s: read, write latency in CK
SPEEDS_MTS = tuple(_GRADES)
USUAL_CHANNEL = (16, 2 << 30)  # 16 Gb


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """LPDDR5X at 7500 to 10667 MT/s, widths of 16 to 128 bits; raises ConfigError on anything else."""
    grade = Lpddr5Grade(speed_mts, *speed_grade("lpddr5x", _GRADES, speed_mts))
    return by_commands("lpddr5x", grade, width_bits, channels, capacity_bytes, _source)


def _source(_: int, density_gbit: int) -> str:
    return f"estimated from the Ramulator 2.1 preset of LPDDR5-6400, channels of {density_gbit} Gb"
