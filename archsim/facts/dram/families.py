"""Families of DRAM standards as data: how their commands are sent, and which command waits how long for which other.

Sources: JESD79-3 (DDR3), JESD79-4 (DDR4), JESD79-5 (DDR5), JESD209-4 (LPDDR4), JESD209-5 (LPDDR5), JESD250 (GDDR6),
JESD235 (HBM2), JESD238 (HBM3), and as second sources the constraint tables of Ramulator 2.1, which these reproduce
for its DDR4, LPDDR5 and HBM2 configurations, and of DRAMSys (LPDDR4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from archsim.facts.dram.constraints import (
    ACCESSES,
    READS,
    ROWS,
    WRITES,
    ConstraintRow,
    DramTimings,
    bank_refresh,
    bank_rows,
    between_groups,
    data_bus,
    other_ranks,
    rank_rows,
    timed,
    window,
    within_group,
)
from archsim.facts.dram.device import CommandProtocol, TimingConstraint

_ALL = (*ROWS, *ACCESSES)
_CLOSING = ("PREpb", "PREab")


@dataclass(frozen=True, slots=True, kw_only=True)
class DramFamily:
    """``lengths``: cycles of a command on its bus where not 1 (see constraints)."""

    protocol: CommandProtocol
    constraints: Callable[[DramTimings], tuple[TimingConstraint, ...]]
    lengths: Mapping[str, int] = field(default_factory=dict)

    def read_latency(self, t: DramTimings) -> int:
        """From the first cycle of a read command to its first beat."""
        return t.cl + t.strobe + self.lengths.get("RD", 1) - 1

    def write_latency(self, t: DramTimings) -> int:
        """From the first cycle of a write command to its first beat."""
        return t.cwl + self.lengths.get("WR", 1) - 1


_TWO = dict.fromkeys(("ACT", *ACCESSES), 2)  # cycles on DDR5's command bus
_FOUR = dict.fromkeys(("ACT", *ACCESSES), 4) | dict.fromkeys(("PREpb", "PREab", "REFab", "REFpb"), 2)  # on LPDDR4's
_ACTIVATE = {"ACT": 2}  # on HBM's row bus; of HBM3 1.5, and the bus is free from the next edge on


def _ddr(t: DramTimings) -> tuple[TimingConstraint, ...]:
    rows = [*data_bus("channel", t), *between_groups(t), *within_group(t, "ACT"), *rank_rows(t, "ACT")]
    rows += [("rank", ("REFab",), ("ACT", "PREab"), t.rfc), *bank_rows(t, "ACT")]
    return (*timed(rows, {}, ()), window(t, "ACT"), *other_ranks(t, t.cwl + t.bl + t.cs - t.cl))


def _ddr5(t: DramTimings) -> tuple[TimingConstraint, ...]:
    rows = [*data_bus("channel", t), *between_groups(t), *within_group(t, "ACT"), *rank_rows(t, "ACT", READS)]
    rows += [
        ("rank", _CLOSING, _CLOSING, t.ppd),
        ("rank", ("REFab",), ("ACT", "PREab"), t.rfc),
        *bank_rows(t, "ACT"),
        *_refresh_apart(t, "ACT", t.rrd_l),
    ]
    return (*timed(rows, _TWO, _ALL), window(t, "ACT"), *other_ranks(t, t.cwl + t.bl + t.cs - t.cl))


def _lpddr4(t: DramTimings) -> tuple[TimingConstraint, ...]:
    rows = [*data_bus("channel", t), *between_groups(t), *within_group(t, "ACT"), *rank_rows(t, "ACT", READS)]
    rows += [
        ("rank", _CLOSING, _CLOSING, t.ppd),
        ("rank", ("REFab",), ("ACT", "PREab"), t.rfc),
        *bank_rows(t, "ACT"),
        *_refresh_apart(t, "ACT", t.rrd_s),
    ]
    return (*timed(rows, _FOUR, _ALL), window(t, "ACT"), *other_ranks(t, t.cwl + t.bl + t.cs - t.cl))


def _lpddr5(t: DramTimings) -> tuple[TimingConstraint, ...]:
    rows = [*data_bus("channel", t), *between_groups(t), *within_group(t, "ACT1"), *rank_rows(t, "ACT1")]
    rows += [
        ("bank", ("CAS_RD",), READS, 0),
        ("bank", ("CAS_WR",), WRITES, 0),
        ("rank", _CLOSING, _CLOSING, t.ppd),
        ("rank", ("REFab",), ("ACT1", "PREab", "REFab", "REFpb"), t.rfc),
        ("rank", ("REFpb",), ("REFpb",), t.pbr2pbr),
        ("rank", ("REFpb",), ("REFab",), t.rfcpb),
        ("rank", ("REFpb",), ("ACT1",), t.pbr2act),
        *bank_rows(t, "ACT1"),
        *bank_refresh(t, "ACT1"),
    ]
    return (*timed(rows, {}, ()), window(t, "ACT1"), *other_ranks(t, t.cl + t.bl + t.cs - t.cwl))


def _gddr6(t: DramTimings) -> tuple[TimingConstraint, ...]:
    rows = [*data_bus("channel", t), *between_groups(t), *within_group(t, "ACT"), *rank_rows(t, "ACT", READS)]
    rows += [
        ("rank", _CLOSING, _CLOSING, t.ppd),
        ("rank", ("REFab",), ("ACT", "PREab"), t.rfc),
        ("bankgroup", ("ACT",), ("REFpb",), t.rrd_l),
        *bank_rows(t, "ACT"),
        *_refresh_apart(t, "ACT", t.rrd_s),
    ]
    return (*timed(rows, {}, ()), window(t, "ACT"), *other_ranks(t, t.cwl + t.bl + t.cs - t.cl))


def _hbm(t: DramTimings) -> tuple[TimingConstraint, ...]:
    rows = [*data_bus("rank", t), *between_groups(t), *within_group(t, "ACT"), *rank_rows(t, "ACT")]
    rows += [
        ("rank", ("REFab",), ("ACT", "PREab"), t.rfc),
        ("rank", ("REFpb",), ("ACT",), t.pbr2act),
        ("rank", ("ACT",), ("REFpb",), t.rrd_s),
        *bank_rows(t, "ACT"),
        *bank_refresh(t, "ACT"),
    ]
    return (*timed(rows, _ACTIVATE, ROWS), window(t, "ACT"))


def _hbm3(t: DramTimings) -> tuple[TimingConstraint, ...]:
    rows = [*data_bus("rank", t), *between_groups(t), *within_group(t, "ACT"), *rank_rows(t, "ACT", READS)]
    rows += [
        ("rank", _CLOSING, _CLOSING, t.ppd),
        ("rank", ("REFab",), ("ACT", "PREab"), t.rfc),
        ("bankgroup", ("ACT",), ("REFpb",), t.rrd_l),
        ("bankgroup", ("REFpb",), ("ACT",), t.rrd_l),
        *bank_rows(t, "ACT"),
        *_refresh_apart(t, "ACT", t.rrd_s),
    ]
    stacks = TimingConstraint(level="stack", before=READS, after=READS, cycles=t.ccd_r, siblings=True)
    return (*timed(rows, _ACTIVATE, ROWS), window(t, "ACT"), stacks)


def _refresh_apart(t: DramTimings, activate: str, after_activate: int) -> list[ConstraintRow]:
    """Refreshes of single banks, and what they mean to the other banks of the rank."""
    return [
        *bank_refresh(t, activate),
        ("rank", ("REFpb",), ("REFpb",), t.pbr2pbr),
        ("rank", ("REFpb",), (activate,), t.pbr2act),
        ("rank", (activate,), ("REFpb",), after_activate),
    ]


DDR = DramFamily(protocol="single", constraints=_ddr)
DDR5 = DramFamily(protocol="single", constraints=_ddr5, lengths=_TWO)
LPDDR4 = DramFamily(protocol="single", constraints=_lpddr4, lengths=_FOUR)
LPDDR5 = DramFamily(protocol="split", constraints=_lpddr5)
GDDR6 = DramFamily(protocol="single", constraints=_gddr6)
HBM2 = DramFamily(protocol="dual", constraints=_hbm, lengths=_ACTIVATE)
HBM3 = DramFamily(protocol="dual", constraints=_hbm3, lengths=_ACTIVATE)
