"""What HBM2 and HBM2E share command by command: all but their speeds and the timings that depend on them.

Channels of 128 bits with two pseudo-channels of 64, each with 4 bank groups of 4 banks, burst length 4, 1 KiB page.
Figures and their sources: see hbm2.
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.families import HBM2
from archsim.facts.dram.standards._build import DramDie, NativeChannel

_T_REFI_PS = 3_900_000
_BL, _CCD_L = 2, 4
_T_RFC_PS = {2: (160_000, 160_000), 4: (260_000, 160_000), 8: (350_000, 160_000), 16: (450_000, 200_000)}


@dataclass(frozen=True, slots=True)
class Hbm2Grade:
    """Timings of a speed in cycles."""

    cl: int
    rcd_rd: int
    rcd_wr: int
    rp: int
    ras: int
    wr: int
    rtp: int
    cwl: int
    wtr_s: int
    wtr_l: int


def channel(standard: str) -> NativeChannel:
    """The native channel, 128 b."""
    return NativeChannel(
        standard=standard,
        family=HBM2,
        unit_bits=64,
        native_bits=128,
        most_bits=1024,
        transfers=2,
        burst=4,
        pseudo_channels=2,
        refresh_banks=1,
        most_ranks=1,
        dies={
            gbit: DramDie(groups=4, banks=4, columns=32, t_rfc_ps=all_banks, t_rfc_bank_ps=one)
            for gbit, (all_banks, one) in _T_RFC_PS.items()
        },
    )


def by_commands(
    standard: str, speed_mts: int, grade: Hbm2Grade, width_bits: int, channels: int, capacity_bytes: int, origin: str
) -> DramMemory:
    """A memory at a grade; ``origin``: where its timings come from."""
    native = channel(standard)
    part, clock = native.fitted(width_bits, channels, capacity_bytes), native.clock(speed_mts)
    rrd = clock.cycles(4_000, least=4)
    timings = DramTimings(
        bl=_BL,
        bl_long=_BL,
        cl=grade.cl,
        cwl=grade.cwl,
        rcd_rd=grade.rcd_rd,
        rcd_wr=grade.rcd_wr,
        rp=grade.rp,
        rpab=grade.rp,
        ras=grade.ras,
        rc=grade.ras + grade.rp,
        wr=grade.wr,
        rtp=grade.rtp,
        ccd_s=_BL,
        ccd_l=_CCD_L,
        rrd_s=rrd,
        rrd_l=rrd,
        wtr_s=grade.wtr_s,
        wtr_l=grade.wtr_l,
        faw=clock.cycles(15_000),
        rfc=clock.cycles(part.die.t_rfc_ps),
        refi=clock.cycles(_T_REFI_PS),
        rfcpb=clock.cycles(part.die.t_rfc_bank_ps),
        pbr2act=clock.cycles(8_000),
        refipb=part.interval_of_banks(_T_REFI_PS, clock),
    )
    return part.dram(clock, timings, f"{origin}, 128 b channels of {part.density_gbit} Gb")
