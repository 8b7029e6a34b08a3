"""HBM2 (JESD235): pseudo-channels of 64 bits, 4 bank groups of 4 banks, burst length 4, 1 KiB page.

A wider "channel" is that many pseudo-channels, each on its own: a 128 b channel gives 2, a 1024 b stack 16. At 2000
MT/s it reproduces the reference configuration ram_hbm2_2000 (Ramulator 2.1) cycle for cycle: nCL 14, nRCDRD 14, nRP
14, nRAS 34, nWR 16, nRTPL 5, nCWL 5, nRRDS 4, nWTRL 8, nFAW 15, nRFC 350 (8 Gb per 128 b channel), nREFI 3900, RD
to WR 13; nRCDWR, 12 there, is taken as nRCDRD by `timing`, for which other speeds are estimated: the same
nanoseconds, also for the latencies. tRFC at 2, 4, 16 Gb: 160, 260, 450 ns (Ramulator 2).

Command by command two pseudo-channels share the command buses of a 128 b channel, and an activate takes two cycles
of the row bus. Cycles at 1600, 2000, 2400 MT/s: the presets of Ramulator 2.1, with nCCDL 4, tRRD 4, tFAW 15, tRREFD
8 ns, tRFCSB 160 ns, 200 ns at 16 Gb (JESD235D there). Single banks are refreshed every tREFI / 32 on a channel.
"""

from __future__ import annotations

from archsim.memory.dram.device import Dram
from archsim.memory.dram.standards._hbm2 import Grade, by_commands
from archsim.memory.dram.standards._resolve import (
    Clock,
    check_counts,
    check_width,
    ranks_and_density,
    speed_grade,
)
from archsim.memory.dram.timing import DramTiming

_NATIVE_BITS = 64
_NATIVE_PER_DIE_CHANNEL = 2  # densities count per 128-bit channel
_BURST_CYCLES = 2  # burst length 4, two transfers per cycle
_BANKS = 16
_COLUMNS = 128
_T_RFC_PS = {2: 160_000, 4: 260_000, 8: 350_000, 16: 450_000}  # by density of a 128-bit channel in Gbit
_T_REFI_PS = 3_900_000
_T_CL_PS = _T_RCD_PS = _T_RP_PS = 14_000
_T_CWL_PS = _T_RTP_PS = 5_000
_T_RAS_PS = 34_000
_T_WR_PS = 16_000
_T_WTR_L_PS = 8_000
_T_RRD_S_PS = 4_000
_T_FAW_PS = 15_000

_SOURCES = {
    1600: "estimated from the Ramulator 2.1 preset of HBM2-2000",
    2000: "Ramulator 2.1 preset of HBM2-2000",
    2400: "estimated from the Ramulator 2.1 preset of HBM2-2000",
}
SPEEDS_MTS = tuple(_SOURCES)
_GRADES = {  # CL, tRCDRD, tRCDWR, tRP, tRAS, tWR, tRTPL, CWL, tWTRS, tWTRL in cycles
    1600: Grade(10, 10, 8, 10, 24, 12, 4, 4, 5, 6),
    2000: Grade(14, 14, 12, 14, 34, 16, 5, 5, 6, 8),
    2400: Grade(17, 17, 14, 17, 40, 19, 6, 6, 8, 10),
}
USUAL_WIDTH_BITS = 64
USUAL_CHANNEL = (128, 1 << 30)  # 8 Gb


def timing(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramTiming:
    """HBM2 at 1600, 2000 or 2400 MT/s, widths of 64 to 1024 bits; raises ConfigError on anything else."""
    source = speed_grade("hbm2", _SOURCES, speed_mts)
    check_width("hbm2", width_bits, _NATIVE_BITS, 1024)
    check_counts("hbm2", channels, capacity_bytes)
    clock = Clock(speed_mts * 500_000)
    native_channels = channels * width_bits // _NATIVE_BITS
    die_channels = -(-native_channels // _NATIVE_PER_DIE_CHANNEL)
    ranks, density_gbit = ranks_and_density(die_channels, capacity_bytes, _T_RFC_PS)
    read_latency, write_latency = clock.cycles(_T_CL_PS), clock.cycles(_T_CWL_PS)
    return DramTiming(
        standard="hbm2",
        clock_hz=clock.hz,
        channels=native_channels,
        ranks=ranks,
        banks=ranks * _BANKS,
        row_bytes=_COLUMNS * _NATIVE_BITS // 8,
        burst_bytes=4 * _NATIVE_BITS // 8,
        capacity_bytes=capacity_bytes,
        t_burst_ps=clock.span_ps(_BURST_CYCLES),
        t_rcd_ps=clock.cover_ps(_T_RCD_PS),
        t_rp_ps=clock.cover_ps(_T_RP_PS),
        t_ras_ps=clock.cover_ps(_T_RAS_PS),
        t_rtp_ps=clock.cover_ps(_T_RTP_PS),
        t_cl_ps=clock.span_ps(read_latency),
        t_cwl_ps=clock.span_ps(write_latency),
        t_wr_ps=clock.cover_ps(_T_WR_PS),
        t_wtr_ps=clock.cover_ps(_T_WTR_L_PS),
        t_rtw_ps=clock.span_ps(read_latency + _BURST_CYCLES + 2 - write_latency),
        t_rrd_ps=clock.cover_ps(_T_RRD_S_PS),
        t_faw_ps=clock.cover_ps(_T_FAW_PS),
        t_rfc_ps=clock.cover_ps(_T_RFC_PS[density_gbit]),
        t_refi_ps=clock.cover_ps(_T_REFI_PS),
        source=f"{source}, 128 b channels of {density_gbit} Gb",
    )


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> Dram:
    """HBM2 command by command; arguments and errors as ``timing``, channels together of whole 128 b."""
    grade = speed_grade("hbm2", _GRADES, speed_mts)
    origin = f"Ramulator 2.1 preset of HBM2-{speed_mts}"
    return by_commands("hbm2", speed_mts, grade, width_bits, channels, capacity_bytes, origin)
