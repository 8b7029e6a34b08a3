"""LPDDR4 SDRAM (JESD209-4): channels of 16 bits, 8 banks, burst length 16, 2 KiB page.

A wider "channel" is that many native 16-bit channels, each on its own: 32 b x 2 channels gives 4. Read and
write latency (DBI off, set A): JESD209-4 table 21; at 3200 MT/s RL 28, WL 14, nRTP 12, tRCD and tRPpb 18 ns,
tRAS 42 ns, tRFCab 180 ns at 4 Gb agree with NXP's DDR tool table for LPDDR4-3200, and tRRD 10 ns, tFAW 40 ns,
tWTR 10 ns, tWR 18 ns, tRFCab 280 ns at 8 Gb, tREFI 3.904 us, tDQSCK 3.5 ns with DRAMSys'
JEDEC_8Gb_LPDDR4-3200_16bit. Write to read and to precharge count one cycle more (tDQSS). nRTW = RL + tDQSCK +
BL/2 + 2 - WL. Data is taken to come RL after the read command; tDQSCK (1.5 to 3.5 ns more) is left out of the
latency.
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

_NATIVE_BITS = 16
_BURST_CYCLES = 8  # burst length 16, two transfers per cycle
_BANKS = 8
_COLUMNS = 1024
_T_RFC_PS = {2: 130_000, 4: 180_000, 8: 280_000, 16: 380_000}  # tRFCab by channel density in Gbit
_T_REFI_PS = 3_904_000
_T_RCD_PS = _T_RP_PS = _T_WR_PS = 18_000  # at least 4 cycles
_T_RAS_PS = 42_000
_T_RTP_PS = 7_500  # at least 8 cycles
_T_WTR_PS = 10_000  # at least 8 cycles
_T_DQSCK_PS = 3_500
_DQSS_CYCLES = 1


@dataclass(frozen=True, slots=True)
class _Grade:
    rl: int
    wl: int
    t_rrd_ps: int = 10_000
    t_faw_ps: int = 40_000


_GRADES = {
    1600: _Grade(rl=14, wl=8),
    2133: _Grade(rl=20, wl=10),
    2667: _Grade(rl=24, wl=12),
    3200: _Grade(rl=28, wl=14),
    3733: _Grade(rl=32, wl=16),
    4267: _Grade(rl=36, wl=18, t_rrd_ps=7_500, t_faw_ps=30_000),
}
SPEEDS_MTS = tuple(_GRADES)
USUAL_WIDTH_BITS = 16


def timing(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramTiming:
    """LPDDR4 at 1600 to 4267 MT/s, widths of 16 to 128 bits; raises ConfigError on anything else."""
    grade = speed_grade("lpddr4", _GRADES, speed_mts)
    check_width("lpddr4", width_bits, _NATIVE_BITS, 128)
    check_counts("lpddr4", channels, capacity_bytes)
    clock = Clock(speed_mts * 500_000)
    native_channels = channels * width_bits // _NATIVE_BITS
    ranks, density_gbit = ranks_and_density(native_channels, capacity_bytes, _T_RFC_PS)
    strobe_delay = clock.cycles(_T_DQSCK_PS)
    return DramTiming(
        standard="lpddr4",
        clock_hz=clock.hz,
        channels=native_channels,
        ranks=ranks,
        banks=ranks * _BANKS,
        row_bytes=_COLUMNS * _NATIVE_BITS // 8,
        burst_bytes=16 * _NATIVE_BITS // 8,
        capacity_bytes=capacity_bytes,
        t_burst_ps=clock.span_ps(_BURST_CYCLES),
        t_rcd_ps=clock.cover_ps(_T_RCD_PS, least=4),
        t_rp_ps=clock.cover_ps(_T_RP_PS, least=4),
        t_ras_ps=clock.cover_ps(_T_RAS_PS, least=3),
        t_rtp_ps=clock.cover_ps(_T_RTP_PS, least=8),
        t_cl_ps=clock.span_ps(grade.rl),
        t_cwl_ps=clock.span_ps(grade.wl),
        t_wr_ps=clock.cover_ps(_T_WR_PS, least=4, extra=_DQSS_CYCLES),
        t_wtr_ps=clock.cover_ps(_T_WTR_PS, least=8, extra=_DQSS_CYCLES),
        t_rtw_ps=clock.span_ps(grade.rl + strobe_delay + _BURST_CYCLES + 2 - grade.wl),
        t_rrd_ps=clock.cover_ps(grade.t_rrd_ps, least=4),
        t_faw_ps=clock.cover_ps(grade.t_faw_ps),
        t_rfc_ps=clock.cover_ps(_T_RFC_PS[density_gbit]),
        t_refi_ps=clock.cover_ps(_T_REFI_PS),
        source=f"JESD209-4, channels of {density_gbit} Gb",
    )
