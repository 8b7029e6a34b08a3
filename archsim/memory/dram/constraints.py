"""Timing constraints of the DRAM families from their timings: which command waits how long for which other.

Sources: JESD79-4 (DDR4), JESD209-5 (LPDDR5), JESD235 (HBM2) and the constraint tables of Ramulator 2.1, which these
reproduce for the reference configurations. An activate of HBM takes two cycles on the row bus, hence its ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archsim.memory.dram.device import Constraint, Level

READS, WRITES = ("RD", "RDA"), ("WR", "WRA")
ACCESSES = ("RD", "WR", "RDA", "WRA")
BUS_TURN = 2  # cycles that the data bus stays free between a read and a write

Row = tuple[Level, tuple[str, ...], tuple[str, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Timings in cycles by their JEDEC names without the n; ``_s`` between bank groups, ``_l`` within one.

    ``bl`` and ``bl_long``: data bus of a burst, and what it occupies of its bank group where that is longer; ``rpab``:
    after a precharge of all banks; ``rfcpb``, ``pbr2pbr`` and ``pbr2act``: refreshes of one bank, and what follows on
    other banks; ``cs``: between ranks; ``ppd``: between precharges.
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

    @property
    def write_to_precharge(self) -> int:
        """The last beat, then recovery."""
        return self.cwl + self.bl + self.wr

    @property
    def read_to_write(self) -> int:
        """The write's data follows the read's."""
        return self.cl + self.bl + BUS_TURN - self.cwl


def ddr(t: Timings) -> tuple[Constraint, ...]:
    """DDR4: one command a cycle, ranks that share the data bus."""
    rows = [*_data_bus("channel", t), *_between_groups(t), *_within_group(t, "ACT"), *_rank_rows(t, "ACT", t.rp)]
    rows += [
        ("rank", ("REFab",), ("ACT", "PREab"), t.rfc),
        *_bank_rows(t, "ACT", extra=0),
        ("bank", ("ACT",), ACCESSES, t.rcd_rd),
    ]
    return (*_made(rows), _window(t, "ACT"), *_other_ranks(t, t.cwl + t.bl + t.cs - t.cl))


def lpddr5(t: Timings) -> tuple[Constraint, ...]:
    """LPDDR5: activates in two commands, precharges apart, refreshes also bank by bank."""
    closing = ("PREpb", "PREab")
    rows = [*_data_bus("channel", t), *_between_groups(t), *_within_group(t, "ACT1"), *_rank_rows(t, "ACT1", t.rpab)]
    rows += [
        ("bank", ("CAS_RD",), READS, 0),
        ("bank", ("CAS_WR",), WRITES, 0),
        ("rank", closing, closing, t.ppd),
        ("rank", ("REFab",), ("ACT1", "PREab", "REFab", "REFpb"), t.rfc),
        ("rank", ("REFpb",), ("REFpb",), t.pbr2pbr),
        ("rank", ("REFpb",), ("REFab",), t.rfcpb),
        ("rank", ("REFpb",), ("ACT1",), t.pbr2act),
        *_bank_rows(t, "ACT1", extra=0),
        ("bank", ("ACT1",), ACCESSES, t.rcd_rd),
        *_bank_refresh(t, "ACT1", extra=0),
    ]
    return (*_made(rows), _window(t, "ACT1"), *_other_ranks(t, t.cl + t.bl + t.cs - t.cwl))


def hbm(t: Timings) -> tuple[Constraint, ...]:
    """HBM2: pseudo-channels with data buses of their own on common command buses."""
    rows = [*_data_bus("rank", t), *_between_groups(t), *_within_group(t, "ACT")]
    rows += [
        ("channel", ("ACT",), ("ACT", "PREpb", "PREab", "REFab", "REFpb"), 2),
        *_rank_rows(t, "ACT", t.rp, extra=1),
        ("rank", ("REFab",), ("ACT",), t.rfc - 1),
        ("rank", ("REFab",), ("PREab",), t.rfc),
        ("rank", ("REFpb",), ("ACT",), t.pbr2act - 1),
        ("rank", ("ACT",), ("REFpb",), t.rrd_s + 1),
        *_bank_rows(t, "ACT", extra=1),
        ("bank", ("ACT",), READS, t.rcd_rd + 1),
        ("bank", ("ACT",), WRITES, t.rcd_wr + 1),
        *_bank_refresh(t, "ACT", extra=1),
    ]
    return (*_made(rows), _window(t, "ACT"))


def _made(rows: Iterable[Row]) -> tuple[Constraint, ...]:
    return tuple(Constraint(level=level, before=before, after=after, cycles=n) for level, before, after, n in rows)


def _data_bus(level: Level, t: Timings) -> list[Row]:
    return [(level, READS, READS, t.bl), (level, WRITES, WRITES, t.bl)]


def _between_groups(t: Timings) -> list[Row]:
    return [
        ("rank", READS, READS, t.ccd_s),
        ("rank", WRITES, WRITES, t.ccd_s),
        ("rank", READS, WRITES, t.read_to_write),
        ("rank", WRITES, READS, t.cwl + t.bl + t.wtr_s),
    ]


def _within_group(t: Timings, activate: str) -> list[Row]:
    return [
        ("bankgroup", READS, READS, t.ccd_l),
        ("bankgroup", WRITES, WRITES, t.ccd_l),
        ("bankgroup", WRITES, READS, t.cwl + t.bl_long + t.wtr_l),
        ("bankgroup", (activate,), (activate,), t.rrd_l),
    ]


def _rank_rows(t: Timings, activate: str, precharge: int, extra: int = 0) -> list[Row]:
    """``extra``: cycles that an activate is longer than other commands."""
    return [
        ("rank", ("RD",), ("PREab",), t.rtp),
        ("rank", ("WR",), ("PREab",), t.write_to_precharge),
        ("rank", (activate,), (activate,), t.rrd_s),
        ("rank", (activate,), ("PREab",), t.ras + extra),
        ("rank", ("PREab",), (activate,), precharge - extra),
        ("rank", (activate,), ("REFab",), t.rc + extra),
        ("rank", ("PREpb", "PREab"), ("REFab",), t.rp),
        ("rank", ("RDA",), ("REFab",), t.rtp + t.rp),
        ("rank", ("WRA",), ("REFab",), t.write_to_precharge + t.rp),
    ]


def _bank_rows(t: Timings, activate: str, extra: int) -> list[Row]:
    return [
        ("bank", (activate,), (activate,), t.rc),
        ("bank", (activate,), ("PREpb",), t.ras + extra),
        ("bank", ("PREpb",), (activate,), t.rp - extra),
        ("bank", ("RD",), ("PREpb",), t.rtp),
        ("bank", ("WR",), ("PREpb",), t.write_to_precharge),
        ("bank", ("RDA",), (activate,), t.rtp + t.rp - extra),
        ("bank", ("WRA",), (activate,), t.write_to_precharge + t.rp - extra),
    ]


def _bank_refresh(t: Timings, activate: str, extra: int) -> list[Row]:
    return [
        ("bank", ("REFpb",), (activate,), t.rfcpb - extra),
        ("bank", (activate,), ("REFpb",), t.rc + extra),
        ("bank", ("PREpb",), ("REFpb",), t.rp),
    ]


def _window(t: Timings, activate: str) -> Constraint:
    return Constraint(level="rank", before=(activate,), after=(activate,), cycles=t.faw, window=4)


def _other_ranks(t: Timings, write_to_read: int) -> tuple[Constraint, Constraint]:
    """Ranks that share a data bus."""
    reads = Constraint(level="rank", before=READS, after=ACCESSES, cycles=t.bl + t.cs, siblings=True)
    return reads, Constraint(level="rank", before=WRITES, after=READS, cycles=write_to_read, siblings=True)
