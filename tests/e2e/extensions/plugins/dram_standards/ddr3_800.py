"""DDR3-800D SDRAM: the slowest bin of JESD79-3F (5-5-5), x8 devices of 1 to 8 Gb, channels of 8 to 64 bits.

tRAS 37.5 ns, tRRD 10 ns, tFAW 40 ns, tWR 15 ns, tWTR and tRTP 7.5 ns, tREFI 7.8 us, tRFC by density (table 61).
"""

from __future__ import annotations

from archsim.base.errors import ConfigError
from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramMemory
from archsim.facts.dram.families import DDR
from archsim.facts.dram.standards._build import DramDie, NativeChannel

SPEEDS_MTS = (800,)
USUAL_CHANNEL = (64, 4 << 30)
_REFRESH_PS = {1: 110_000, 2: 160_000, 4: 260_000, 8: 350_000}  # by density in Gbit
_CHANNEL = NativeChannel(
    standard="ddr3_800",
    family=DDR,
    unit_bits=8,
    native_bits=64,
    most_bits=64,
    transfers=2,
    burst=8,
    die_bits=8,
    dies={gbit: DramDie(groups=1, banks=8, columns=128, t_rfc_ps=time) for gbit, time in _REFRESH_PS.items()},
)


def dram(speed_mts: int, width_bits: int, channels: int, capacity_bytes: int) -> DramMemory:
    """Channels at 800 MT/s; raises ConfigError on anything else."""
    if speed_mts not in SPEEDS_MTS:
        raise ConfigError(f"ddr3_800: speed: found {speed_mts} MT/s; allowed 800 MT/s")
    part, clock = _CHANNEL.fitted(width_bits, channels, capacity_bytes), _CHANNEL.clock(speed_mts)
    ras, rrd = clock.cycles(37_500), clock.cycles(10_000, least=4)
    timings = DramTimings(
        bl=4, bl_long=4, cl=5, cwl=5, rcd_rd=5, rcd_wr=5, rp=5, rpab=5, ras=ras, rc=ras + 5,
        wr=clock.cycles(15_000), rtp=clock.cycles(7_500, least=4), ccd_s=4, ccd_l=4, rrd_s=rrd, rrd_l=rrd,
        wtr_s=clock.cycles(7_500, least=4), wtr_l=clock.cycles(7_500, least=4), faw=clock.cycles(40_000),
        rfc=clock.cycles(part.die.t_rfc_ps), refi=clock.cycles(7_800_000), cs=2,
    )  # fmt: skip
    return part.dram(clock, timings, f"JESD79-3F, DDR3-800D, x8 devices of {part.density_gbit} Gb")
