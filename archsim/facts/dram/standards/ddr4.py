"""DDR4 SDRAM (JESD79-4C): x8 devices, 4 bank groups of 4 banks, burst length 8, 1 KiB page per device.

A channel of ``width_bits`` is width/8 devices in step, so its row is 1024 columns x width. Speed bins
(CL-nRCD-nRP), tRAS and CWL (set 1): JESD79-4C speed bin tables; the bin named in each line. tRRD, tFAW (1
KiB page), tCCD_L, tWTR, tRTP, tWR: JESD79-4C tables 169-170. DDR4-2400 reproduces the reference configuration
ram_ddr4_2400 (Ramulator 2.1, bin R) cycle for cycle, tRFC1 of 8 Gb included, which there is 360 ns (JEDEC:
350 ns); the intervals differ by its rounding of tCK to 833 ps. tREFI 7.8 us below 85 C. nRTW = CL + BL/2 + 2
- CWL.

Activates of an open-row stream walk over bank groups, hence tRRD_S; a read may follow a write in the same
bank group, hence tWTR_L.
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.families import DDR
from archsim.facts.dram.standards._build import DramDie, NativeChannel
from archsim.facts.dram.standards._resolve import speed_grade

_BURST_CYCLES = 4  # burst length 8, two transfers per cycle
_BURST_LENGTH = 8
_BANKS = 16
_GROUPS = 4
_COLUMNS = 1024
_T_RFC_PS = {2: 160_000, 4: 260_000, 8: 360_000, 16: 550_000}  # tRFC1 by die density in Gbit
_T_REFI_PS = 7_800_000
_T_WR_PS = 15_000
_T_WTR_L_PS = _T_RTP_PS = 7_500  # both at least 4 cycles
_T_WTR_S_PS = 2_500  # at least 2 cycles
_RANK_SWITCH_CYCLES = 2


@dataclass(frozen=True, slots=True)
class _Grade:
    cl: int  # = nRCD = nRP
    cwl: int
    t_ras_ps: int
    t_rrd_s_ps: int
    t_rrd_l_ps: int
    t_faw_ps: int
    t_ccd_l_ps: int


_GRADES = {  # CL, CWL, tRAS, tRRD_S, tRRD_L, tFAW, tCCD_L; times in ps
    1600: _Grade(11, 9, 35_000, 5_000, 6_000, 25_000, 6_250),  # 1600K
    1866: _Grade(13, 10, 34_000, 4_200, 5_300, 23_000, 5_355),  # 1866M
    2133: _Grade(15, 11, 33_000, 3_700, 5_300, 21_000, 5_355),  # 2133P
    2400: _Grade(16, 12, 32_000, 3_300, 4_900, 21_000, 5_000),  # 2400R
    2666: _Grade(19, 14, 32_000, 3_000, 4_900, 21_000, 5_000),  # 2666V
    2933: _Grade(21, 16, 32_000, 2_700, 4_900, 21_000, 5_000),  # 2933Y
    3200: _Grade(22, 16, 32_000, 2_500, 4_900, 21_000, 5_000),  # 3200AA
}
SPEEDS_MTS = tuple(_GRADES)
USUAL_CHANNEL = (64, 8 << 30)  # one rank of x8 dies of 8 Gb

_CHANNEL = NativeChannel(
    standard="ddr4",
    family=DDR,
    unit_bits=8,
    native_bits=64,
    most_bits=64,
    transfers=2,
    burst=_BURST_LENGTH,
    die_bits=8,
    dies={
        gbit: DramDie(groups=_GROUPS, banks=_BANKS // _GROUPS, columns=_COLUMNS // _BURST_LENGTH, t_rfc_ps=t)
        for gbit, t in _T_RFC_PS.items()
    },
)


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """DDR4 at 1600 to 3200 MT/s, channels of 8 to 64 bits; raises ConfigError on anything else."""
    grade, part = speed_grade("ddr4", _GRADES, speed_mts), _CHANNEL.fitted(width_bits, channels, capacity_bytes)
    clock = _CHANNEL.clock(speed_mts)
    ras = clock.cycles(grade.t_ras_ps)
    timings = DramTimings(
        bl=_BURST_CYCLES,
        bl_long=_BURST_CYCLES,
        cl=grade.cl,
        cwl=grade.cwl,
        rcd_rd=grade.cl,
        rcd_wr=grade.cl,
        rp=grade.cl,
        rpab=grade.cl,
        ras=ras,
        rc=ras + grade.cl,
        wr=clock.cycles(_T_WR_PS),
        rtp=clock.cycles(_T_RTP_PS, least=4),
        ccd_s=_BURST_CYCLES,
        ccd_l=clock.cycles(grade.t_ccd_l_ps, least=5),
        rrd_s=clock.cycles(grade.t_rrd_s_ps, least=4),
        rrd_l=clock.cycles(grade.t_rrd_l_ps, least=4),
        wtr_s=clock.cycles(_T_WTR_S_PS, least=2),
        wtr_l=clock.cycles(_T_WTR_L_PS, least=4),
        faw=clock.cycles(grade.t_faw_ps, least=20),
        rfc=clock.cycles(part.die.t_rfc_ps),
        refi=clock.cycles(_T_REFI_PS),
        cs=_RANK_SWITCH_CYCLES,
    )
    source = f"JESD79-4C and the Ramulator 2.1 preset of DDR4-2400, x8 devices of {part.density_gbit} Gb"
    return part.dram(clock, timings, source)
