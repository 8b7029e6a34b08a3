"""DRAM standards: found by file name, equal to the published figures, refused with what is allowed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from archsim.errors import ConfigError
from archsim.memory.dram import catalogue
from archsim.memory.dram.timing import DramTiming, edge_after, edge_at_or_after, edge_ps

GIB = 1 << 30
SPEEDS = {
    "ddr3": (1066, 1333, 1600, 1866, 2133),
    "ddr4": (1600, 1866, 2133, 2400, 2666, 2933, 3200),
    "hbm2": (1600, 2000, 2400),
    "lpddr4": (1600, 2133, 2667, 3200, 3733, 4267),
    "lpddr5": (3200, 4267, 5500, 6400),
}
NATIVE_BITS = {"ddr3": 64, "ddr4": 64, "hbm2": 64, "lpddr4": 16, "lpddr5": 16}
EVERY_SPEED = [(name, speed) for name, speeds in SPEEDS.items() for speed in speeds]

# Cycles as the reference configurations of Ramulator 2.1 resolve them (its tCK of 833 ps makes tRFC 433, tREFI 9364).
DDR4_2400 = {"burst": 4, "rcd": 16, "rp": 16, "ras": 39, "rtp": 9, "cl": 16, "cwl": 12, "wr": 18, "wtr": 9}
DDR4_2400 |= {"rtw": 10, "rrd": 4, "faw": 26, "rfc": 432, "refi": 9360}
LPDDR5_6400 = {"burst": 2, "rcd": 15, "rp": 15, "ras": 34, "rtp": 8, "cl": 17, "cwl": 9, "wr": 28, "wtr": 23 - 9 - 2}
LPDDR5_6400 |= {"rtw": 12, "rrd": 4, "faw": 16, "rfc": 168, "refi": 3125}
HBM2_2000 = {"burst": 2, "rcd": 14, "rp": 14, "ras": 34, "rtp": 5, "cl": 14, "cwl": 5, "wr": 16, "wtr": 8}
HBM2_2000 |= {"rtw": 13, "rrd": 4, "faw": 15, "rfc": 350, "refi": 3900}
# LPDDR4-3200: NXP's DDR tool table (RL 28, WL 14, nRTP 12, tRCD 18 ns ...), one cycle of tDQSS after writes.
LPDDR4_3200 = {"burst": 8, "rcd": 29, "rp": 29, "ras": 68, "rtp": 12, "cl": 28, "cwl": 14, "wr": 30, "wtr": 17}
LPDDR4_3200 |= {"rtw": 30, "rrd": 16, "faw": 64, "rfc": 448, "refi": 6247}
# DDR3-1600K by JESD79-3F: 11-11-11, CWL 8, tRAS 35 ns, tFAW 30 ns, 4 Gb: tRFC 260 ns.
DDR3_1600 = {"burst": 4, "rcd": 11, "rp": 11, "ras": 28, "rtp": 6, "cl": 11, "cwl": 8, "wr": 12, "wtr": 6}
DDR3_1600 |= {"rtw": 9, "rrd": 5, "faw": 24, "rfc": 208, "refi": 6240}


def test_names() -> None:
    assert catalogue.with_timing() == tuple(sorted(SPEEDS))


@pytest.mark.parametrize(
    ("name", "speed", "width", "capacity", "cycles"),
    [
        ("ddr3", 1600, 64, 4 * GIB, DDR3_1600),
        ("ddr4", 2400, 64, 8 * GIB, DDR4_2400),
        ("lpddr4", 3200, 16, GIB, LPDDR4_3200),
        ("lpddr5", 6400, 16, GIB, LPDDR5_6400),
        ("hbm2", 2000, 128, GIB, HBM2_2000),
    ],
)
def test_published_cycles(name: str, speed: int, width: int, capacity: int, cycles: dict[str, int]) -> None:
    timing = catalogue.timing(name, speed, width, 1, capacity)
    assert {key: timing.cycles(getattr(timing, f"t_{key}_ps")) for key in cycles} == cycles


@pytest.mark.parametrize(("name", "speed"), EVERY_SPEED)
def test_every_speed_resolves(name: str, speed: int) -> None:
    """Peak = channels x width x rate exactly; every constraint is a whole number of cycles; refresh takes < 15 %."""
    timing = catalogue.timing(name, speed, NATIVE_BITS[name], 2, 2 * GIB)
    assert timing.peak_bytes_per_s == 2 * NATIVE_BITS[name] // 8 * speed * 10**6
    assert timing.standard == name and timing.source
    assert 0 < Fraction(timing.t_rfc_ps, timing.t_refi_ps) < Fraction(15, 100)
    for field in timing.__dataclass_fields__:
        if field.startswith("t_"):
            time_ps = getattr(timing, field)
            assert edge_ps(timing.cycles(time_ps), timing.clock_hz) == time_ps


def test_wide_channels_are_native_channels_side_by_side() -> None:
    assert catalogue.timing("lpddr5", 6400, 64, 1, 8 * GIB) == catalogue.timing("lpddr5", 6400, 16, 4, 8 * GIB)
    assert catalogue.timing("hbm2", 2000, 1024, 1, 8 * GIB).channels == 16
    assert catalogue.timing("ddr4", 2400, 32, 1, 4 * GIB).burst_bytes == 32


def test_capacity_chooses_density_then_ranks() -> None:
    def refresh_and_ranks(capacity_gib: int) -> tuple[int, int]:
        timing = catalogue.timing("ddr4", 1600, 64, 1, capacity_gib * GIB)
        return timing.t_rfc_ps, timing.ranks

    assert [refresh_and_ranks(gib) for gib in (1, 2, 4, 8, 16, 32, 128)] == [
        (160_000, 1),
        (160_000, 1),
        (260_000, 1),
        (360_000, 1),
        (550_000, 1),
        (550_000, 2),
        (550_000, 8),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ddr44", 2400, 64, 1, GIB), ["ddr44", "ddr4", "lpddr5"]),
        (("ddr4", 2401, 64, 1, GIB), ["2401", "MT/s", "1600, 1866", "nearest 2400"]),
        (("ddr4", 2400, 48, 1, GIB), ["48 b", "8, 16, 32, 64 b"]),
        (("lpddr5", 6400, 8, 1, GIB), ["8 b", "16, 32, 64, 128 b"]),
        (("hbm2", 2000, 64, 0, GIB), ["channels", "found 0"]),
        (("lpddr4", 3200, 16, 1, 0), ["capacity", "found 0"]),
        (("ddr3", 1600, 64, 1, 100), ["capacity", "100", "multiples", "64 B"]),
    ],
)
def test_refused(arguments: tuple[str, int, int, int, int], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        catalogue.timing(*arguments)
    for word in words:
        assert word in str(error.value)


def lpddr5() -> DramTiming:
    return catalogue.timing("lpddr5", 6400, 16, 1, GIB)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"t_rcd_ps": 0}, "t_rcd_ps"),
        ({"channels": -1}, "channels"),
        ({"banks": 12}, "powers of two"),
        ({"banks": 1, "ranks": 2}, "banks >= ranks"),
        ({"row_bytes": 16}, "row_bytes >= burst_bytes"),
        ({"capacity_bytes": 33}, "multiples"),
        ({"t_refi_ps": 200_000}, "t_refi_ps"),
        ({"clock_hz": 10**13}, "clock_hz"),
    ],
)
def test_impossible_timing_is_refused(change: dict[str, int], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        replace(lpddr5(), **change)


def test_edges() -> None:
    assert [edge_ps(n, 1_200_000_000) for n in range(4)] == [0, 833, 1666, 2500]
    assert [edge_at_or_after(t, 1_200_000_000) for t in (0, 1, 833, 834, 1666, 2500)] == [0, 1, 1, 2, 2, 3]
    assert [edge_after(t, 1_200_000_000) for t in (0, 832, 833, 1665, 1666, 2499, 2500)] == [1, 1, 2, 2, 3, 3, 4]
