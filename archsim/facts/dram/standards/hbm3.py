"""HBM3 (JESD238): pseudo-channels of 32 bits, 4 bank groups of 4 banks a stack ID, burst length 8, 1 KiB page.

A channel of 64 bits is two pseudo-channels that share command buses; the clock is CK, a quarter of the data rate.

A wider "channel" is that many native 64-bit channels: a 1024 b stack has 16. 4, 8 and 16 Gb a channel are stacks of
4, 8 and 16 dies of 16 Gb (JESD238 table 4) with 1, 2 and 4 stack IDs, whose bank groups are counted together here;
reads of two stack IDs are 3 cycles apart (nCCDR). tRFCab 260, 350, 450, tRFCpb 200 ns, tREFI 3.9 us, single banks
every tREFI / (banks of a pseudo-channel), tCCDL 2.5 ns or 4 cycles, tRREFD 8 ns or 3 cycles, tPPD 2, RD to WR by
note 18: JESD238 tables 92 and 93 as Ramulator 2.1 has them. Core timings are the vendors' and not public: those of
6400 MT/s are what Ramulator 2.1 marks as its guess (nCL 20, nRCDRD 31, nRCDWR 15, nRP 26, nRAS 45, nWR 33, nRTP 9,
nCWL 10, nRRDS 4, nRRDL 5, nFAW 24, nWTRS 7, nWTRL 10), and those of other speeds the same nanoseconds: estimated.

An activate takes 1.5 and other row commands half a cycle of the row bus: modelled as 2 and 1, so what is left of
their last cycle stays unused. Single banks' refreshes are not counted in tFAW. Stacks of 12 dies are refused (a
count of banks that is no power of two), refresh management is not modelled.
"""

from __future__ import annotations

from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.families import HBM3
from archsim.facts.dram.standards._build import DramDie, NativeChannel
from archsim.facts.dram.standards._resolve import speed_grade

_BL = 2
_T_REFI_PS = 3_900_000
_TABLE_MTS = 6400
_SPEEDS = {speed: None for speed in (4800, 5200, 5600, 6000, 6400)}
SPEEDS_MTS = tuple(_SPEEDS)
USUAL_CHANNEL = (64, 1 << 30)  # 8 Gb

_CHANNEL = NativeChannel(
    standard="hbm3",
    family=HBM3,
    unit_bits=32,
    native_bits=64,
    most_bits=1024,
    transfers=4,
    burst=8,
    pseudo_channels=2,
    refresh_banks=1,
    most_ranks=1,
    dies={
        gbit: DramDie(groups=4 * stacks, banks=4, columns=32, t_rfc_ps=t, t_rfc_bank_ps=200_000, stacks=stacks)
        for gbit, stacks, t in ((4, 1, 260_000), (8, 2, 350_000), (16, 4, 450_000))
    },
)


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """HBM3 at 4800 to 6400 MT/s, widths of 32 to 1024 bits, together whole 64 b; raises ConfigError otherwise."""
    speed_grade("hbm3", _SPEEDS, speed_mts)
    part, clock = _CHANNEL.fitted(width_bits, channels, capacity_bytes), _CHANNEL.clock(speed_mts)

    def scaled(cycles: int) -> int:
        """Cycles for the time of ``cycles`` of the table."""
        return -(-cycles * speed_mts // _TABLE_MTS)

    cl, cwl = scaled(20), scaled(10)
    ras, rp, apart = scaled(45), scaled(26), clock.cycles(8_000, least=3)
    timings = DramTimings(
        bl=_BL,
        bl_long=_BL,
        cl=cl,
        cwl=cwl,
        rcd_rd=scaled(31),
        rcd_wr=scaled(15),
        rp=rp,
        rpab=rp,
        ras=ras,
        rc=ras + rp,
        wr=scaled(33),
        rtp=scaled(9),
        ccd_s=_BL,
        ccd_l=clock.cycles(2_500, least=4),
        ccd_r=3 if part.die.stacks > 1 else _BL,
        rrd_s=scaled(4),
        rrd_l=scaled(5),
        wtr_s=scaled(7),
        wtr_l=scaled(10),
        faw=scaled(24),
        rfc=clock.cycles(part.die.t_rfc_ps),
        refi=clock.cycles(_T_REFI_PS),
        ppd=2,
        rfcpb=clock.cycles(part.die.t_rfc_bank_ps),
        pbr2pbr=apart,
        pbr2act=apart,
        refipb=part.interval_of_banks(_T_REFI_PS, clock),
        rtw=cl + _BL - cwl + _turn(clock.hz),
    )
    source = f"JESD238, core timings estimated as Ramulator 2.1 at 6400 MT/s, channels of {part.density_gbit} Gb"
    return part.dram(clock, timings, source)


def _turn(clock_hz: int) -> int:
    """What a write's data keeps from a read's: 2.52 ns and half a cycle, less 0.2 ns or a fifth of a cycle."""
    period_fs = 10**15 // clock_hz
    return -(-(2_520_000 + period_fs // 2 - min(200_000, period_fs // 5)) // period_fs)
