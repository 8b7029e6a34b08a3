"""DDR3 SDRAM (JESD79-3F): x8 devices, 8 banks, burst length 8, 1 KiB page per device.

A channel of ``width_bits`` is width/8 devices in step, so its row is 1024 columns x width. Speed bins
(CL-nRCD-nRP) and tRAS: JESD79-3F tables 62-67; the bin named in each line. tRRD, tFAW (1 KiB page), tWTR,
tRTP, tWR: table 68 ff. tRFC by density: table 61. tREFI 7.8 us below 85 C. nRTW = CL + BL/2 + 2 - CWL
(section 4.13). The cycle counts agree with those of the Ramulator 2 DDR3 presets, except the write latency,
which there is 9 cycles at all speeds. tCCD 4 cycles, two cycles between ranks (Ramulator 2).
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.families import DDR
from archsim.facts.dram.standards._build import DramDie, NativeChannel
from archsim.facts.dram.standards._resolve import speed_grade

_BURST_CYCLES = 4  # burst length 8, two transfers per cycle
_BANKS = 8
_COLUMNS = 1024
_T_RFC_PS = {1: 110_000, 2: 160_000, 4: 260_000, 8: 350_000}  # by die density in Gbit
_T_REFI_PS = 7_800_000
_T_WR_PS = 15_000
_T_WTR_PS = _T_RTP_PS = 7_500  # both at least 4 cycles


@dataclass(frozen=True, slots=True)
class _Grade:
    cl: int  # = nRCD = nRP
    cwl: int
    t_ras_ps: int
    t_rrd_ps: int
    t_faw_ps: int


_GRADES = {
    1066: _Grade(cl=7, cwl=6, t_ras_ps=37_500, t_rrd_ps=7_500, t_faw_ps=37_500),  # 1066F
    1333: _Grade(cl=9, cwl=7, t_ras_ps=36_000, t_rrd_ps=6_000, t_faw_ps=30_000),  # 1333H
    1600: _Grade(cl=11, cwl=8, t_ras_ps=35_000, t_rrd_ps=6_000, t_faw_ps=30_000),  # 1600K
    1866: _Grade(cl=13, cwl=9, t_ras_ps=34_000, t_rrd_ps=5_000, t_faw_ps=27_000),  # 1866M
    2133: _Grade(cl=14, cwl=10, t_ras_ps=33_000, t_rrd_ps=5_000, t_faw_ps=25_000),  # 2133N
}
SPEEDS_MTS = tuple(_GRADES)
USUAL_CHANNEL = (64, 4 << 30)  # one rank of x8 dies of 4 Gb

_CHANNEL = NativeChannel(
    standard="ddr3",
    family=DDR,
    unit_bits=8,
    native_bits=64,
    most_bits=64,
    transfers=2,
    burst=8,
    die_bits=8,
    dies={gbit: DramDie(groups=1, banks=_BANKS, columns=_COLUMNS // 8, t_rfc_ps=t) for gbit, t in _T_RFC_PS.items()},
)


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """DDR3 at 1066 to 2133 MT/s, channels of 8 to 64 bits; raises ConfigError on anything else."""
    grade, part = speed_grade("ddr3", _GRADES, speed_mts), _CHANNEL.fitted(width_bits, channels, capacity_bytes)
    clock = _CHANNEL.clock(speed_mts)
    ras, rrd = clock.cycles(grade.t_ras_ps), clock.cycles(grade.t_rrd_ps, least=4)
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
        ccd_l=_BURST_CYCLES,
        rrd_s=rrd,
        rrd_l=rrd,
        wtr_s=clock.cycles(_T_WTR_PS, least=4),
        wtr_l=clock.cycles(_T_WTR_PS, least=4),
        faw=clock.cycles(grade.t_faw_ps),
        rfc=clock.cycles(part.die.t_rfc_ps),
        refi=clock.cycles(_T_REFI_PS),
        cs=2,
    )
    return part.dram(clock, timings, f"JESD79-3F, x8 devices of {part.density_gbit} Gb")
