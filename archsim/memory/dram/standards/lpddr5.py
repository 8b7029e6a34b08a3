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

from archsim.memory.dram.device import Dram
from archsim.memory.dram.standards._lpddr5 import Grade, by_commands
from archsim.memory.dram.standards._resolve import (
    Clock,
    check_counts,
    check_width,
    ranks_and_density,
    speed_grade,
)
from archsim.memory.dram.timing import DramTiming

_NATIVE_BITS = 16
_BURST_CYCLES = 2  # burst length 16, eight transfers per CK cycle
_GROUP_BURST_CYCLES = 4
_BANKS = 16
_COLUMNS = 1024
_T_RFC_PS = {
    2: 130_000,
    4: 180_000,
    8: 210_000,
    16: 280_000,
    32: 380_000,
}  # tRFCab by channel density in Gbit
_T_REFI_PS = 3_906_000
_T_RCD_PS = _T_RP_PS = 18_000
_T_RAS_PS = 42_000
_T_RTP_PS = 10_000
_T_WR_PS = 34_000
_T_WTR_L_PS = 12_000
_T_RRD_PS = 5_000
_T_FAW_PS = 20_000

_GRADES = {
    3200: (9, 5),
    4267: (12, 6),
    5500: (15, 8),
    6400: (17, 9),
}  # MT/s: read latency, write latency in CK
SPEEDS_MTS = tuple(_GRADES)
USUAL_WIDTH_BITS = 16
USUAL_CHANNEL = (16, 1 << 30)  # 8 Gb


def timing(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramTiming:
    """LPDDR5 at 3200 to 6400 MT/s, widths of 16 to 128 bits; raises ConfigError on anything else."""
    read_latency, write_latency = speed_grade("lpddr5", _GRADES, speed_mts)
    check_width("lpddr5", width_bits, _NATIVE_BITS, 128)
    check_counts("lpddr5", channels, capacity_bytes)
    clock = Clock(speed_mts * 125_000)
    native_channels = channels * width_bits // _NATIVE_BITS
    ranks, density_gbit = ranks_and_density(native_channels, capacity_bytes, _T_RFC_PS)
    return DramTiming(
        standard="lpddr5",
        clock_hz=clock.hz,
        channels=native_channels,
        ranks=ranks,
        banks=ranks * _BANKS,
        row_bytes=_COLUMNS * _NATIVE_BITS // 8,
        burst_bytes=16 * _NATIVE_BITS // 8,
        capacity_bytes=capacity_bytes,
        t_burst_ps=clock.span_ps(_BURST_CYCLES),
        t_rcd_ps=clock.cover_ps(_T_RCD_PS),
        t_rp_ps=clock.cover_ps(_T_RP_PS),
        t_ras_ps=clock.cover_ps(_T_RAS_PS),
        t_rtp_ps=clock.cover_ps(_T_RTP_PS),
        t_cl_ps=clock.span_ps(read_latency),
        t_cwl_ps=clock.span_ps(write_latency),
        t_wr_ps=clock.cover_ps(_T_WR_PS),
        t_wtr_ps=clock.cover_ps(_T_WTR_L_PS, extra=_GROUP_BURST_CYCLES - _BURST_CYCLES),
        t_rtw_ps=clock.span_ps(read_latency + _BURST_CYCLES + 2 - write_latency),
        t_rrd_ps=clock.cover_ps(_T_RRD_PS),
        t_faw_ps=clock.cover_ps(_T_FAW_PS),
        t_rfc_ps=clock.cover_ps(_T_RFC_PS[density_gbit]),
        t_refi_ps=clock.cover_ps(_T_REFI_PS),
        source=_source(speed_mts, density_gbit),
    )


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> Dram:
    """LPDDR5 command by command; arguments and errors as ``timing``."""
    grade = Grade(speed_mts, *speed_grade("lpddr5", _GRADES, speed_mts))
    return by_commands("lpddr5", grade, width_bits, channels, capacity_bytes, _source)


def _source(speed_mts: int, density_gbit: int) -> str:
    measured = speed_mts == 6400 and density_gbit <= 16
    origin = (
        "Ramulator 2.1 preset of LPDDR5-6400" if measured else "estimated from the Ramulator 2.1 preset of LPDDR5-6400"
    )
    return f"{origin}, channels of {density_gbit} Gb"
