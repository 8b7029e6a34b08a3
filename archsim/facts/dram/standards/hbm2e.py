"""HBM2E (JESD235D): HBM2 at 2800 to 3600 MT/s.

Organisation, commands and refreshes are HBM2's (see hbm2). Timings: estimated, the nanoseconds of the Ramulator 2.1
preset of HBM2-2400, the fastest there (tCL, tRCDRD, tRP 14.2, tRCDWR 11.7, tRAS 33.4, tWR 15.9, tRTPL, CWL 5, tWTRS
6.7, tWTRL 8.4 ns), as JESD235D leaves core timings to the vendor and the array is the same; nCCDL 4.
"""

from __future__ import annotations

from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.standards._hbm2 import Hbm2Grade, by_commands
from archsim.facts.dram.standards._resolve import speed_grade

_GRADES = {  # CL, tRCDRD, tRCDWR, tRP, tRAS, tWR, tRTPL, CWL, tWTRS, tWTRL in cycles
    2800: Hbm2Grade(20, 20, 17, 20, 47, 23, 7, 7, 10, 12),
    3200: Hbm2Grade(23, 23, 19, 23, 54, 26, 8, 8, 11, 14),
    3600: Hbm2Grade(26, 26, 21, 26, 60, 29, 9, 9, 12, 15),
}
SPEEDS_MTS = tuple(_GRADES)
USUAL_CHANNEL = (128, 2 << 30)  # 16 Gb


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """HBM2E at 2800 to 3600 MT/s, widths of 64 to 1024 bits, together whole 128 b; raises ConfigError otherwise."""
    grade = speed_grade("hbm2e", _GRADES, speed_mts)
    origin = "estimated from the Ramulator 2.1 preset of HBM2-2400"
    return by_commands("hbm2e", speed_mts, grade, width_bits, channels, capacity_bytes, origin)
