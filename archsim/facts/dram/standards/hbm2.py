"""HBM2 (JESD235): pseudo-channels of 64 bits, 4 bank groups of 4 banks, burst length 4, 1 KiB page.

At 2000 MT/s it reproduces the reference configuration ram_hbm2_2000 (Ramulator 2.1) cycle for cycle. Native is a
channel of 128 b: two pseudo-channels share its command buses, and an activate takes two cycles of the row bus; a 1024
b stack has 8. tRFC at 2, 4, 8, 16 Gb per 128 b channel: 160, 260, 350, 450 ns (Ramulator 2). Cycles at 1600, 2000,
2400 MT/s: the presets of Ramulator 2.1, with nCCDL 4, tRRD 4, tFAW 15, tRREFD 8 ns, tRFCSB 160 ns, 200 ns at 16 Gb
(JESD235D there). Single banks are refreshed every tREFI / 32 on a channel.
"""

from __future__ import annotations

from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.standards._hbm2 import Hbm2Grade, by_commands
from archsim.facts.dram.standards._resolve import speed_grade

_GRADES = {  # CL, tRCDRD, tRCDWR, tRP, tRAS, tWR, tRTPL, CWL, tWTRS, tWTRL in cycles
    1600: Hbm2Grade(10, 10, 8, 10, 24, 12, 4, 4, 5, 6),
    2000: Hbm2Grade(14, 14, 12, 14, 34, 16, 5, 5, 6, 8),
    2400: Hbm2Grade(17, 17, 14, 17, 40, 19, 6, 6, 8, 10),
}
SPEEDS_MTS = tuple(_GRADES)
USUAL_CHANNEL = (128, 1 << 30)  # 8 Gb


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """HBM2 at 1600, 2000 or 2400 MT/s, in all whole channels of 128 b; raises ConfigError on anything else."""
    grade = speed_grade("hbm2", _GRADES, speed_mts)
    origin = f"Ramulator 2.1 preset of HBM2-{speed_mts}"
    return by_commands("hbm2", speed_mts, grade, width_bits, channels, capacity_bytes, origin)
