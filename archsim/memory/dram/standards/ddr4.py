"""DDR4 SDRAM (JESD79-4C): x8 devices, 4 bank groups of 4 banks, burst length 8, 1 KiB page per device.

A channel of ``width_bits`` is width/8 devices in step, so its row is 1024 columns x width. Speed bins
(CL-nRCD-nRP), tRAS and CWL (set 1): JESD79-4C speed bin tables; the bin named in each line. tRRD_S, tFAW (1
KiB page), tWTR_L, tRTP, tWR: JESD79-4C tables 169-170. DDR4-2400 reproduces the reference configuration
ram_ddr4_2400 (Ramulator 2.1, bin R) cycle for cycle, tRFC1 of 8 Gb included, which there is 360 ns (JEDEC:
350 ns); the intervals differ by its rounding of tCK to 833 ps. tREFI 7.8 us below 85 C. nRTW = CL + BL/2 + 2
- CWL.

Activates of an open-row stream walk over bank groups, hence tRRD_S; a read may follow a write in the same
bank group, hence tWTR_L.
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.memory.dram.standards._resolve import (
    Clock,
    check_counts,
    check_width,
    ranks_and_density,
    speed_grade,
)
from archsim.memory.dram.timing import DramTiming

_BURST_CYCLES = 4  # burst length 8, two transfers per cycle
_BANKS = 16
_COLUMNS = 1024
_T_RFC_PS = {2: 160_000, 4: 260_000, 8: 360_000, 16: 550_000}  # tRFC1 by die density in Gbit
_T_REFI_PS = 7_800_000
_T_WR_PS = 15_000
_T_WTR_L_PS = _T_RTP_PS = 7_500  # both at least 4 cycles


@dataclass(frozen=True, slots=True)
class _Grade:
    cl: int  # = nRCD = nRP
    cwl: int
    t_ras_ps: int
    t_rrd_s_ps: int
    t_faw_ps: int


_GRADES = {
    1600: _Grade(cl=11, cwl=9, t_ras_ps=35_000, t_rrd_s_ps=5_000, t_faw_ps=25_000),  # 1600K
    1866: _Grade(cl=13, cwl=10, t_ras_ps=34_000, t_rrd_s_ps=4_200, t_faw_ps=23_000),  # 1866M
    2133: _Grade(cl=15, cwl=11, t_ras_ps=33_000, t_rrd_s_ps=3_700, t_faw_ps=21_000),  # 2133P
    2400: _Grade(cl=16, cwl=12, t_ras_ps=32_000, t_rrd_s_ps=3_300, t_faw_ps=21_000),  # 2400R
    2666: _Grade(cl=19, cwl=14, t_ras_ps=32_000, t_rrd_s_ps=3_000, t_faw_ps=21_000),  # 2666V
    2933: _Grade(cl=21, cwl=16, t_ras_ps=32_000, t_rrd_s_ps=2_700, t_faw_ps=21_000),  # 2933Y
    3200: _Grade(cl=22, cwl=16, t_ras_ps=32_000, t_rrd_s_ps=2_500, t_faw_ps=21_000),  # 3200AA
}
SPEEDS_MTS = tuple(_GRADES)
USUAL_WIDTH_BITS = 64


def timing(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramTiming:
    """DDR4 at 1600 to 3200 MT/s, channels of 8 to 64 bits; raises ConfigError on anything else."""
    grade = speed_grade("ddr4", _GRADES, speed_mts)
    check_width("ddr4", width_bits, 8, 64)
    check_counts("ddr4", channels, capacity_bytes)
    clock = Clock(speed_mts * 500_000)
    ranks, density_gbit = ranks_and_density(channels * width_bits // 8, capacity_bytes, _T_RFC_PS)
    return DramTiming(
        standard="ddr4",
        clock_hz=clock.hz,
        channels=channels,
        ranks=ranks,
        banks=ranks * _BANKS,
        row_bytes=_COLUMNS * width_bits // 8,
        burst_bytes=width_bits,
        capacity_bytes=capacity_bytes,
        t_burst_ps=clock.span_ps(_BURST_CYCLES),
        t_rcd_ps=clock.span_ps(grade.cl),
        t_rp_ps=clock.span_ps(grade.cl),
        t_ras_ps=clock.cover_ps(grade.t_ras_ps),
        t_rtp_ps=clock.cover_ps(_T_RTP_PS, least=4),
        t_cl_ps=clock.span_ps(grade.cl),
        t_cwl_ps=clock.span_ps(grade.cwl),
        t_wr_ps=clock.cover_ps(_T_WR_PS),
        t_wtr_ps=clock.cover_ps(_T_WTR_L_PS, least=4),
        t_rtw_ps=clock.span_ps(grade.cl + _BURST_CYCLES + 2 - grade.cwl),
        t_rrd_ps=clock.cover_ps(grade.t_rrd_s_ps, least=4),
        t_faw_ps=clock.cover_ps(grade.t_faw_ps, least=20),
        t_rfc_ps=clock.cover_ps(_T_RFC_PS[density_gbit]),
        t_refi_ps=clock.cover_ps(_T_REFI_PS),
        source=f"JESD79-4C and the Ramulator 2.1 preset of DDR4-2400, x8 devices of {density_gbit} Gb",
    )
