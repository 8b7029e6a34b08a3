"""LPDDR4 and LPDDR4X SDRAM (JESD209-4): channels of 16 bits, 8 banks, burst length 16, 2 KiB page.

A wider "channel" is that many native 16-bit channels, each on its own: 32 b x 2 channels gives 4. Read and
write latency (DBI off, set A): JESD209-4 table 21; at 3200 MT/s RL 28, WL 14, nRTP 12, tRCD and tRPpb 18 ns,
tRAS 42 ns, tRFCab 180 ns at 4 Gb agree with NXP's DDR tool table for LPDDR4-3200, and tRRD 10 ns, tFAW 40 ns,
tWTR 10 ns, tWR 18 ns, tRFCab 280 ns at 8 Gb, tREFI 3.904 us, tDQSCK 3.5 ns with DRAMSys'
JEDEC_8Gb_LPDDR4-3200_16bit. Write to read and to precharge count one cycle more (tDQSS). nRTW = RL + tDQSCK +
BL/2 + 2 - WL.
Activates, reads and writes take four cycles on the command bus, precharges and refreshes two, and
timings run between their ends (JESD209-4 command truth table; DRAMSys counts the same), so the first beat comes RL + 3
cycles + tDQSCK, at its most, after the first cycle of a read. tRPab 21 ns, tPPD 4 cycles, tRFCpb 140 ns at 8 Gb, 190 ns
at 16 Gb, from one bank's refresh to the next's tRFCpb, to an activate of another bank tRRD: JESD209-4, as DRAMSys'
JEDEC_1Gbx16_LPDDR4 tables (tRFCpb half of tRFCab); 60 and 90 ns at 2 and 4 Gb: estimated, as LPDDR5's. A refresh of
one bank every tREFI / 8. One cycle between ranks: DRAMSys. Masked writes (tCCDMW) are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.families import LPDDR4
from archsim.facts.dram.standards._build import DramDie, NativeChannel
from archsim.facts.dram.standards._resolve import speed_grade

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
_T_RP_ALL_PS = 21_000
_T_RFC_BANK_PS = {2: 60_000, 4: 90_000, 8: 140_000, 16: 190_000}  # tRFCpb


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
USUAL_CHANNEL = (16, 1 << 30)  # 8 Gb

_CHANNEL = NativeChannel(
    standard="lpddr4",  # or LPDDR4X
    family=LPDDR4,
    unit_bits=_NATIVE_BITS,
    native_bits=_NATIVE_BITS,
    most_bits=128,
    transfers=2,
    burst=16,
    refresh_banks=1,
    dies={
        gbit: DramDie(groups=1, banks=_BANKS, columns=_COLUMNS // 16, t_rfc_ps=t, t_rfc_bank_ps=_T_RFC_BANK_PS[gbit])
        for gbit, t in _T_RFC_PS.items()
    },
)


def by_commands(
    standard: str, speed_mts: int, width_bits: int, channels: int, capacity_bytes: int, origin: str
) -> DramMemory:
    """LPDDR4 or LPDDR4X at one of ``SPEEDS_MTS``, widths of 16 to 128 bits; raises ConfigError on anything else.

    ``origin``: where the timings come from.
    """
    channel = replace(_CHANNEL, standard=standard)
    grade, part = speed_grade(standard, _GRADES, speed_mts), channel.fitted(width_bits, channels, capacity_bytes)
    clock = channel.clock(speed_mts)
    ras, rp = clock.cycles(_T_RAS_PS, least=3), clock.cycles(_T_RP_PS, least=4)
    rcd, rrd = clock.cycles(_T_RCD_PS, least=4), clock.cycles(grade.t_rrd_ps, least=4)
    strobe, one = clock.cycles(_T_DQSCK_PS), clock.cycles(part.die.t_rfc_bank_ps)
    timings = DramTimings(
        bl=_BURST_CYCLES,
        bl_long=_BURST_CYCLES,
        cl=grade.rl,
        cwl=grade.wl + _DQSS_CYCLES,
        rcd_rd=rcd,
        rcd_wr=rcd,
        rp=rp,
        rpab=clock.cycles(_T_RP_ALL_PS, least=4),
        ras=ras,
        rc=ras + rp,
        wr=clock.cycles(_T_WR_PS, least=4),
        rtp=clock.cycles(_T_RTP_PS, least=8),
        ccd_s=_BURST_CYCLES,
        ccd_l=_BURST_CYCLES,
        rrd_s=rrd,
        rrd_l=rrd,
        wtr_s=clock.cycles(_T_WTR_PS, least=8),
        wtr_l=clock.cycles(_T_WTR_PS, least=8),
        faw=clock.cycles(grade.t_faw_ps),
        rfc=clock.cycles(part.die.t_rfc_ps),
        refi=clock.cycles(_T_REFI_PS),
        cs=1,
        ppd=4,
        rfcpb=one,
        pbr2pbr=one,
        pbr2act=rrd,
        refipb=part.interval_of_banks(_T_REFI_PS, clock),
        rtw=grade.rl + strobe + _BURST_CYCLES + 2 - grade.wl,
        strobe=strobe,
    )
    return part.dram(clock, timings, f"{origin}, channels of {part.density_gbit} Gb")
