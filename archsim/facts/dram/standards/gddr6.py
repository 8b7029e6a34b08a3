"""GDDR6 SGRAM (JESD250C): channels of 16 bits, 4 bank groups of 4 banks, burst length 16, 2 KiB page.

The clock is CK, an eighth of the data rate (WCK, at a quarter or half of it, always runs).

A wider "channel" is that many native 16-bit channels: a 32 b device has two. 14 Gb/s is the Ramulator 2.1 preset
from Samsung's K4Z80325BC data sheet (rev. 1.3, tables 27, 91, 92, at 1.35 V), cycle for cycle: nCL 24, nCWL 6,
nRCDRD 27, nRCDWR 16, nRP 27, nRAS 53, nRC 79, nWR 27, nRTP 4, nCCDS 2, nCCDL 4, nRRDS and nRRDL 8, nWTRS 10, nWTRL
12, nFAW 29, nRREFD 15, nPPD 1, RD to WR CL + 2 BL/8 - CWL + 3, tRFCab 120 and tRFCpb 60 ns at 8 Gb a device (4 Gb a
channel), tREFI 1.9 us, single banks every tREFI / 16. 12 and 16 Gb/s: estimated, the same nanoseconds, also for the
latencies (16 Gb/s: 20 Gb/s devices exist whose tables are not public). 16 Gb devices (8 Gb a channel, 4 KiB page):
tRFCab 190, tRFCpb 95 ns, estimated as DDR4's step from 8 to 16 Gb. WCK runs always. Not modelled: refresh of bank
pairs, pseudo-channel and x8 modes, CRC, write with mask.
"""

from __future__ import annotations

from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.families import GDDR6
from archsim.facts.dram.standards._build import DramDie, NativeChannel
from archsim.facts.dram.standards._resolve import speed_grade

_BL = 2
_T_REFI_PS = 1_900_000
_TABLE_MTS = 14000
_SOURCES = {
    12000: "estimated from Samsung K4Z80325BC at 14 Gb/s",
    14000: "Samsung K4Z80325BC by Ramulator 2.1",
    16000: "estimated from Samsung K4Z80325BC at 14 Gb/s",
}
SPEEDS_MTS = tuple(_SOURCES)
USUAL_CHANNEL = (16, 512 << 20)  # half of an 8 Gb device

_CHANNEL = NativeChannel(
    standard="gddr6",
    family=GDDR6,
    unit_bits=16,
    native_bits=16,
    most_bits=512,
    transfers=8,
    burst=16,
    refresh_banks=1,
    dies={
        4: DramDie(groups=4, banks=4, columns=64, t_rfc_ps=120_000, t_rfc_bank_ps=60_000),
        8: DramDie(groups=4, banks=4, columns=128, t_rfc_ps=190_000, t_rfc_bank_ps=95_000),
    },
    most_ranks=1,
)


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """GDDR6 at 12, 14 or 16 Gb/s, widths of 16 to 512 bits; raises ConfigError on anything else."""
    source = speed_grade("gddr6", _SOURCES, speed_mts)
    part, clock = _CHANNEL.fitted(width_bits, channels, capacity_bytes), _CHANNEL.clock(speed_mts)

    def scaled(cycles: int) -> int:
        """Cycles for the time of ``cycles`` of the table."""
        return -(-cycles * speed_mts // _TABLE_MTS)

    cl, cwl, rrd = scaled(24), scaled(6), scaled(8)
    timings = DramTimings(
        bl=_BL,
        bl_long=_BL,
        cl=cl,
        cwl=cwl,
        rcd_rd=scaled(27),
        rcd_wr=scaled(16),
        rp=scaled(27),
        rpab=scaled(27),
        ras=scaled(53),
        rc=scaled(79),
        wr=scaled(27),
        rtp=scaled(4),
        ccd_s=_BL,
        ccd_l=4,
        rrd_s=rrd,
        rrd_l=rrd,
        wtr_s=scaled(10),
        wtr_l=scaled(12),
        faw=scaled(29),
        rfc=clock.cycles(part.die.t_rfc_ps),
        refi=clock.cycles(_T_REFI_PS),
        ppd=1,
        rfcpb=clock.cycles(part.die.t_rfc_bank_ps),
        pbr2pbr=scaled(15),
        pbr2act=scaled(15),
        refipb=part.interval_of_banks(_T_REFI_PS, clock),
        rtw=cl + 2 * _BL - cwl + 3,
    )
    return part.dram(clock, timings, f"{source}, channels of {part.density_gbit} Gb")
