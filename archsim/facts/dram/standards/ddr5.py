"""DDR5 SDRAM (JESD79-5C): independent subchannels of 32 bits, x8 devices, 8 bank groups, burst length 16.

A 64 b channel is two subchannels with command buses of their own; one of 8 to 32 b is width/8 devices in step, with
rows of 1 KiB a device. 2 banks in a bank group at 8 Gb, 4 above. Speed bins B (CL-nRCD-nRP) and all timings below:
JESD79-5C as the presets of Ramulator 2.1 have it, cycle for cycle (tRAS 32, tWR 30, tRTP 7.5, tCCD_L 5, tCCD_L_WR2
10, tRRD_L 5, tWTR_S 2.5, tWTR_L 10 ns with their least cycles; tRRD_S 8, tFAW 32, tPPD 2; CWL = CL - 2; tRFC1 195,
295, 410 ns at 8, 16, 32 Gb); gem5's DDR5_4400_4x8, from Micron's data sheet, has the same nanoseconds. RD to WR: CL
+ BL/2 + 2 + tRPST - 0.5 + tWPRE - CWL with tWPRE 2, from 5200 MT/s on 3 and tRPST one longer. Writes of x8 devices
fill whole code words of the on-die ECC, so the second of a bank group waits tCCD_L_WR2.

Activates, reads and writes take two cycles on the command bus, and timings run from the second. Same-bank refresh:
the banks of one number in all bank groups at once, tRFCsb 115, 130, 190 ns, 30 ns to an activate elsewhere
(tREFSBRD); it belongs to the fine-granularity mode, hence every tREFI2 / (banks of a group), tREFI2 = 1.95 us
(JESD79-5 4.13). Not modelled: speeds above 6400 MT/s, whose timings differ between banks of a group, refresh
management, 2N command timing.
"""

from __future__ import annotations

from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.families import DDR5
from archsim.facts.dram.standards._build import DramDie, NativeChannel
from archsim.facts.dram.standards._resolve import speed_grade

_GROUPS = 8
_BL = 8
_T_REFI_PS, _T_REFI2_PS = 3_900_000, 1_950_000
_LONG_PREAMBLE_MTS = 5200  # from here on
_GRADES = {  # MT/s: CL, nRCD = nRP
    3200: (26, 26),
    3600: (30, 30),
    4000: (32, 32),
    4400: (36, 36),
    4800: (40, 39),
    5200: (42, 42),
    5600: (46, 45),
    6000: (48, 48),
    6400: (52, 52),
}
SPEEDS_MTS = tuple(_GRADES)
USUAL_CHANNEL = (32, 8 << 30)  # one rank of x8 dies of 16 Gb

_CHANNEL = NativeChannel(
    standard="ddr5",
    family=DDR5,
    unit_bits=8,
    native_bits=32,
    most_bits=128,
    transfers=2,
    burst=16,
    die_bits=8,
    refresh_banks=_GROUPS,
    dies={
        8: DramDie(groups=_GROUPS, banks=2, columns=64, t_rfc_ps=195_000, t_rfc_bank_ps=115_000),
        16: DramDie(groups=_GROUPS, banks=4, columns=64, t_rfc_ps=295_000, t_rfc_bank_ps=130_000),
        32: DramDie(groups=_GROUPS, banks=4, columns=64, t_rfc_ps=410_000, t_rfc_bank_ps=190_000),
    },
)


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """DDR5 at 3200 to 6400 MT/s, widths of 8 to 128 bits; raises ConfigError on anything else."""
    cl, rcd = speed_grade("ddr5", _GRADES, speed_mts)
    part, clock = _CHANNEL.fitted(width_bits, channels, capacity_bytes), _CHANNEL.clock(speed_mts)
    ras, one = clock.cycles(32_000), clock.cycles(part.die.t_rfc_bank_ps)
    preambles = 6 if speed_mts >= _LONG_PREAMBLE_MTS else 4
    timings = DramTimings(
        bl=_BL,
        bl_long=_BL,
        cl=cl,
        cwl=cl - 2,
        rcd_rd=rcd,
        rcd_wr=rcd,
        rp=rcd,
        rpab=rcd,
        ras=ras,
        rc=ras + rcd,
        wr=clock.cycles(30_000),
        rtp=clock.cycles(7_500, least=12),
        ccd_s=_BL,
        ccd_l=clock.cycles(5_000, least=8),
        ccd_l_wr=clock.cycles(10_000, least=16),
        rrd_s=8,
        rrd_l=clock.cycles(5_000, least=8),
        wtr_s=clock.cycles(2_500, least=4),
        wtr_l=clock.cycles(10_000, least=16),
        faw=32,
        rfc=clock.cycles(part.die.t_rfc_ps),
        refi=clock.cycles(_T_REFI_PS),
        cs=2,
        ppd=2,
        rfcpb=one,
        pbr2pbr=one,
        pbr2act=clock.cycles(30_000),
        refipb=part.interval_of_banks(_T_REFI2_PS, clock),
        rtw=cl + _BL + preambles - (cl - 2),
    )
    return part.dram(clock, timings, f"JESD79-5C by Ramulator 2.1, bin B, x8 devices of {part.density_gbit} Gb")
