"""Timings of a DRAM by their JEDEC names, and what turns rules between commands into constraints.

A rule states the cycles from the last bus cycle of a command to the last of another, as JEDEC's timings do; a
command may take several cycles on its bus (``lengths``), which then belongs to it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from archsim.facts.dram.device import DramLevel, TimingConstraint

READS, WRITES = ("RD", "RDA"), ("WR", "WRA")
ACCESSES = ("RD", "WR", "RDA", "WRA")
ROWS = ("ACT", "PREpb", "PREab", "REFab", "REFpb")
BUS_TURN = 2  # cycles that the data bus stays free between a read and a write

ConstraintRow = tuple[DramLevel, tuple[str, ...], tuple[str, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DramTimings:
    """Timings in cycles by their JEDEC names without the n; ``_s`` between bank groups, ``_l`` within one.

    ``bl`` and ``bl_long``: data bus of a burst, and what it occupies of its bank group where that is longer; ``rpab``:
    after a precharge of all banks; ``rfcpb``, ``pbr2pbr`` and ``pbr2act``: refreshes of one bank, and what follows on
    other banks; ``refi`` and ``refipb``: average interval of refreshes of a rank, and of those bank by bank on the
    channel; ``cs``: between ranks; ``ppd``: between precharges; ``ccd_l_wr``: between writes of a bank group where not
    ``ccd_l``; ``ccd_r``: between reads of two stacks; ``rtw``: read to write where it is not the read's data, two
    cycles, the write's; ``strobe``: from the read latency to the first beat.
    """

    bl: int
    bl_long: int
    cl: int
    cwl: int
    rcd_rd: int
    rcd_wr: int
    rp: int
    rpab: int
    ras: int
    rc: int
    wr: int
    rtp: int
    ccd_s: int
    ccd_l: int
    rrd_s: int
    rrd_l: int
    wtr_s: int
    wtr_l: int
    faw: int
    rfc: int
    refi: int
    cs: int = 0
    ppd: int = 0
    rfcpb: int = 0
    pbr2pbr: int = 0
    pbr2act: int = 0
    refipb: int = 0
    ccd_l_wr: int = 0
    ccd_r: int = 0
    rtw: int = 0
    strobe: int = 0

    @property
    def write_to_precharge(self) -> int:
        """The last beat, then recovery."""
        return self.cwl + self.bl + self.wr

    @property
    def read_to_write(self) -> int:
        """The write's data follows the read's."""
        return self.rtw or self.cl + self.bl + BUS_TURN - self.cwl

    @property
    def writes_of_group(self) -> int:
        """Between writes of a bank group."""
        return self.ccd_l_wr or self.ccd_l


def timed(
    rows: Iterable[ConstraintRow], lengths: Mapping[str, int], bus: tuple[str, ...]
) -> tuple[TimingConstraint, ...]:
    """Constraints between the first cycles of commands, and those of a bus that longer commands occupy.

    ``lengths``: cycles of a command on its bus where not 1; ``bus``: the commands that share one with them.
    """
    found = []
    for level, before, after, cycles in rows:
        for first, earlier in _by_length(before, lengths):
            for second, later in _by_length(after, lengths):
                found.append(TimingConstraint(level=level, before=earlier, after=later, cycles=cycles + first - second))
    for length, commands in _by_length(tuple(lengths), lengths):
        found.append(TimingConstraint(level="channel", before=commands, after=bus, cycles=length))
    return tuple(found)


def _by_length(commands: tuple[str, ...], lengths: Mapping[str, int]) -> list[tuple[int, tuple[str, ...]]]:
    found: dict[int, list[str]] = {}
    for command in commands:
        found.setdefault(lengths.get(command, 1), []).append(command)
    return [(length, tuple(listed)) for length, listed in found.items()]


def window(t: DramTimings, activate: str) -> TimingConstraint:
    """Four activates of a rank within tFAW."""
    return TimingConstraint(level="rank", before=(activate,), after=(activate,), cycles=t.faw, window=4)


def other_ranks(t: DramTimings, write_to_read: int) -> tuple[TimingConstraint, TimingConstraint]:
    """Ranks that share a data bus."""
    reads = TimingConstraint(level="rank", before=READS, after=ACCESSES, cycles=t.bl + t.cs, siblings=True)
    return reads, TimingConstraint(level="rank", before=WRITES, after=READS, cycles=write_to_read, siblings=True)


def data_bus(level: DramLevel, t: DramTimings) -> list[ConstraintRow]:
    """One burst after the other."""
    return [(level, READS, READS, t.bl), (level, WRITES, WRITES, t.bl)]


def between_groups(t: DramTimings) -> list[ConstraintRow]:
    """Accesses of a rank, whatever their bank group."""
    return [
        ("rank", READS, READS, t.ccd_s),
        ("rank", WRITES, WRITES, t.ccd_s),
        ("rank", READS, WRITES, t.read_to_write),
        ("rank", WRITES, READS, t.cwl + t.bl + t.wtr_s),
    ]


def within_group(t: DramTimings, activate: str) -> list[ConstraintRow]:
    """Accesses and activates of one bank group."""
    return [
        ("bankgroup", READS, READS, t.ccd_l),
        ("bankgroup", WRITES, WRITES, t.writes_of_group),
        ("bankgroup", WRITES, READS, t.cwl + t.bl_long + t.wtr_l),
        ("bankgroup", (activate,), (activate,), t.rrd_l),
    ]


def rank_rows(t: DramTimings, activate: str, reads: tuple[str, ...] = ("RD",)) -> list[ConstraintRow]:
    """Activates, precharges of all banks and refreshes of a rank.

    ``reads``: RD, and RDA where a precharge of all banks has to wait for it too; the writes are those of the reads.
    """
    writes = tuple(read.replace("RD", "WR") for read in reads)
    return [
        ("rank", reads, ("PREab",), t.rtp),
        ("rank", writes, ("PREab",), t.write_to_precharge),
        ("rank", (activate,), (activate,), t.rrd_s),
        ("rank", (activate,), ("PREab",), t.ras),
        ("rank", ("PREab",), (activate,), t.rpab),
        ("rank", (activate,), ("REFab",), t.rc),
        ("rank", ("PREpb", "PREab"), ("REFab",), t.rp),
        ("rank", ("RDA",), ("REFab",), t.rtp + t.rp),
        ("rank", ("WRA",), ("REFab",), t.write_to_precharge + t.rp),
    ]


def bank_rows(t: DramTimings, activate: str) -> list[ConstraintRow]:
    """Activates, accesses and precharges of a bank."""
    return [
        ("bank", (activate,), (activate,), t.rc),
        ("bank", (activate,), READS, t.rcd_rd),
        ("bank", (activate,), WRITES, t.rcd_wr),
        ("bank", (activate,), ("PREpb",), t.ras),
        ("bank", ("PREpb",), (activate,), t.rp),
        ("bank", ("RD",), ("PREpb",), t.rtp),
        ("bank", ("WR",), ("PREpb",), t.write_to_precharge),
        ("bank", ("RDA",), (activate,), t.rtp + t.rp),
        ("bank", ("WRA",), (activate,), t.write_to_precharge + t.rp),
    ]


def bank_refresh(t: DramTimings, activate: str) -> list[ConstraintRow]:
    """Refreshes of single banks: the bank is closed before, by a precharge or by its last access."""
    return [
        ("bank", ("REFpb",), (activate,), t.rfcpb),
        ("bank", (activate,), ("REFpb",), t.rc),
        ("bank", ("PREpb",), ("REFpb",), t.rp),
        ("bank", ("RDA",), ("REFpb",), t.rtp + t.rp),
        ("bank", ("WRA",), ("REFpb",), t.write_to_precharge + t.rp),
    ]
