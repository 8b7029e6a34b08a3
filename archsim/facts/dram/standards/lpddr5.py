"""LPDDR5 SDRAM (JESD209-5): channels of 16 bits, 4 bank groups of 4 banks, burst length 16, 2 KiB page, WCK = 4 CK.

A wider "channel" is that many native 16-bit channels, each on its own: 64 b x 1 channel gives 4. LPDDR5-6400
reproduces the reference configuration ram_lpddr5_6400 (Ramulator 2.1) cycle for cycle: nCL 17, nRCD 15, nRP 15,
nRAS 34, nWR 28, nRTP 8, nCWL 9, nRRD 4, nFAW 16, nRFC 168 (210 ns, 8 Gb), nREFI 3125, RD to WR 12, WR to RD in a
bank group 23. Its nanoseconds (tRCD 18, tRPpb 18, tRAS 42, tWR 34, tRRD 5, tFAW 20, tWTR_L 12, tRTP 10) hold at the
other speeds. Read and write latency (set 0, set A) at other speeds than 6400: estimated, from the JESD209-5 latency
tables as recalled; each gives 21 to 23 ns as 6400 does. tRFCab 130, 180, 210, 280 ns at 2, 4, 8, 16 Gb: Ramulator
2; 32 Gb, 380 ns: estimated, as LPDDR4's step. tRFCpb 120 ns at 8 Gb: the reference configuration; 60, 160, 210 ns
at 2, 16, 32 Gb: Ramulator 2.1 (JESD209-5B); 90 ns at 4 Gb: estimated, as tRFCab's step. tRPab 21, tWTR_S 6.25,
tPBR2PBR 90, tPBR2ACT 7.5 ns and tPPD 2, tAAD 8, tWCKPST 1 cycles: the reference configuration. The clock is CK; a
burst of a bank group lasts 2 CK on the bus (nBL_min), 4 CK inside the group. A refresh bank by bank is of two
banks, of the same number in bank groups two apart, every tREFI / 8 (JESD209-5, bank group mode; DRAMPower pairs
banks 8 apart too; the reference configuration has the interval, and one bank).
"""

from __future__ import annotations

from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.standards._lpddr5 import Lpddr5Grade, by_commands
from archsim.facts.dram.standards._resolve import speed_grade

_GRADES = {
    3200: (9, 5),
    4267: (12, 6),
    5500: (15, 8),
    6400: (17, 9),
}  # MT/s: read latency, write latency in CK
SPEEDS_MTS = tuple(_GRADES)
USUAL_CHANNEL = (16, 1 << 30)  # 8 Gb


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """LPDDR5 at 3200 to 6400 MT/s, widths of 16 to 128 bits; raises ConfigError on anything else."""
    grade = Lpddr5Grade(speed_mts, *speed_grade("lpddr5", _GRADES, speed_mts))
    return by_commands("lpddr5", grade, width_bits, channels, capacity_bytes, _source)


def _source(speed_mts: int, density_gbit: int) -> str:
    measured = speed_mts == 6400 and density_gbit <= 16
    origin = (
        "Ramulator 2.1 preset of LPDDR5-6400" if measured else "estimated from the Ramulator 2.1 preset of LPDDR5-6400"
    )
    return f"{origin}, channels of {density_gbit} Gb"
