"""What LPDDR5 and LPDDR5X share command by command: all but their speeds and latencies.

Bank group mode: 4 bank groups of 4 banks, burst length 16, 2 KiB page, WCK = 4 CK. Figures and their sources: see
lpddr5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.families import LPDDR5
from archsim.facts.dram.standards._build import DramDie, NativeChannel

_BL, _BL_LONG = 2, 4  # cycles of a burst on the bus, and inside its bank group
_ACTIVATE_WINDOW = 8  # tAAD
_CLOCK_LINGER = 1  # tWCKPST
_T_REFI_PS = 3_906_000
_T_RFC_PS = {2: (130_000, 60_000), 4: (180_000, 90_000), 8: (210_000, 120_000), 16: (280_000, 160_000)}
_T_RFC_PS |= {32: (380_000, 210_000)}  # tRFCab and tRFCpb by channel density in Gbit


@dataclass(frozen=True, slots=True)
class Lpddr5Grade:
    """A speed with its read and write latency in cycles."""

    speed_mts: int
    rl: int
    wl: int


def channel(standard: str) -> NativeChannel:
    """The native channel, 16 b."""
    return NativeChannel(
        standard=standard,
        family=LPDDR5,
        unit_bits=16,
        native_bits=16,
        most_bits=128,
        transfers=8,
        burst=16,
        refresh_banks=2,
        dies={
            gbit: DramDie(groups=4, banks=4, columns=64, t_rfc_ps=all_banks, t_rfc_bank_ps=one)
            for gbit, (all_banks, one) in _T_RFC_PS.items()
        },
    )


def by_commands(
    standard: str,
    grade: Lpddr5Grade,
    width_bits: int,
    channels: int,
    capacity_bytes: int,
    source: Callable[[int, int], str],
) -> DramMemory:
    """A memory at a grade; ``source`` of a speed and a density."""
    native = channel(standard)
    part, clock = native.fitted(width_bits, channels, capacity_bytes), native.clock(grade.speed_mts)
    ras, rp, rcd = clock.cycles(42_000), clock.cycles(18_000), clock.cycles(18_000)
    rrd = clock.cycles(5_000)
    timings = DramTimings(
        bl=_BL,
        bl_long=_BL_LONG,
        cl=grade.rl,
        cwl=grade.wl,
        rcd_rd=rcd,
        rcd_wr=rcd,
        rp=rp,
        rpab=clock.cycles(21_000),
        ras=ras,
        rc=ras + rp,
        wr=clock.cycles(34_000),
        rtp=clock.cycles(10_000),
        ccd_s=_BL,
        ccd_l=_BL_LONG,
        rrd_s=rrd,
        rrd_l=rrd,
        wtr_s=clock.cycles(6_250),
        wtr_l=clock.cycles(12_000),
        faw=clock.cycles(20_000),
        rfc=clock.cycles(part.die.t_rfc_ps),
        refi=clock.cycles(_T_REFI_PS),
        cs=2,
        ppd=2,
        rfcpb=clock.cycles(part.die.t_rfc_bank_ps),
        pbr2pbr=clock.cycles(90_000),
        pbr2act=clock.cycles(7_500),
        refipb=part.interval_of_banks(_T_REFI_PS, clock),
    )
    found = source(grade.speed_mts, part.density_gbit)
    return part.dram(clock, timings, found, _ACTIVATE_WINDOW, _CLOCK_LINGER)
