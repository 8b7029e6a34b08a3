"""Critical path and MAC slots on timelines written by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import pytest
from fixtures_timeline import NS, UNITS, activity, record, tile_pipeline

from archsim.base.errors import SimulationError
from archsim.ir.activity import Activity
from archsim.ir.bandwidth import BandwidthTrace
from archsim.ir.causes import CAUSES
from archsim.ir.records import Records
from archsim.sim.attribution import attribute
from archsim.sim.critical import HOST, bound_by, critical_cycles, critical_path
from archsim.sim.mac_breakdown import array_units, mac_breakdown, peak_macs_per_cycle


class FakeArray(NamedTuple):
    """What mac_breakdown reads of an Array."""

    name: str
    clock_hz: int
    peak_macs_per_cycle: Fraction
    copies: int = 1


class FakeChip(NamedTuple):
    """What mac_breakdown reads of an Architecture."""

    clock_hz: int
    arrays: tuple[FakeArray, ...]


def slots(run: Activity, *arrays: FakeArray) -> dict[str, int]:
    chip = FakeChip(run.clock_hz, arrays)
    return mac_breakdown(run, chip, attribute(run))  # type: ignore[arg-type]


def nonzero(found: dict[str, int]) -> dict[str, int]:
    return {key: value for key, value in found.items() if value}


def test_path_of_two_tiles() -> None:
    """load0 - array0 - load1 - array1 - store1: everything but store0 counts."""
    run = tile_pipeline()
    path = critical_path(run)
    assert [(s.start_ps // NS, s.end_ps // NS, s.cause) for s in path] == [
        (0, 8, "dram"),
        (8, 10, "sram_port"),
        (10, 14, "fill_drain"),
        (14, 28, "compute"),
        (28, 30, "fill_drain"),
        (30, 38, "dram"),
        (38, 40, "sram_port"),
        (40, 44, "fill_drain"),
        (44, 58, "compute"),
        (58, 60, "fill_drain"),
        (60, 61, "sram_port"),
        (61, 65, "dram"),
    ]
    assert critical_cycles(path, run.clock_hz) == {"l0": {"dram": 20, "sram_port": 5, "fill_drain": 12, "compute": 28}}


def test_path_without_waits_follows_the_queue_and_crossings_are_dependency() -> None:
    run = activity(
        record("host", 0, (0, 0, 4), None, (("launch", 4),), layer=""),
        record(UNITS[0], 0, (0, 6, 9), ("host", 0), (("noc", 9),)),
        record(UNITS[0], 1, (9, 9, 12), None, (("dram", 12),), layer="l1"),
        record(UNITS[2], 0, (0, 12, 15), (UNITS[0], 1), (("busy", 14), ("sram_port", 15)), layer="l1"),
        total=16,
        units=(*UNITS, "host"),
    )
    assert critical_cycles(critical_path(run), run.clock_hz) == {
        HOST: {"launch": 4 + 1},  # the launch, and from the last command to the end seen by the host
        "l0": {"dependency": 2, "noc": 3},
        "l1": {"dram": 3, "compute": 2, "sram_port": 1},
    }


def test_the_path_follows_the_signal_also_where_it_crossed_clocks() -> None:
    """The load ends at 4 and is seen at 9; the array's last command ended at 6: shortening that one gains nothing."""
    run = activity(
        record(UNITS[0], 0, (0, 0, 4), None, (("dram", 4),)),
        record(UNITS[1], 0, (0, 0, 6)),
        record(UNITS[1], 1, (6, 9, 10), (UNITS[0], 0)),
    )
    assert critical_cycles(critical_path(run), run.clock_hz) == {"l0": {"dram": 4, "dependency": 5, "compute": 1}}


def test_of_commands_that_end_together_the_first_unit_counts() -> None:
    run = activity(
        record(UNITS[0], 0, (0, 0, 9), None, (("dram", 9),)),
        record(UNITS[1], 0, (0, 0, 9), layer="l1"),
    )
    assert critical_cycles(critical_path(run), run.clock_hz) == {"l0": {"dram": 9}}


def test_an_empty_run_has_an_empty_path() -> None:
    none = Activity("none", 0, 10**9, {"host": Records("host")}, {}, {}, BandwidthTrace({}), {})
    assert list(critical_path(none)) == []


@pytest.mark.parametrize(
    ("critical", "stalls", "bound"),
    [
        ({"dram": 5, "compute": 4}, {}, "dram"),
        ({"launch": 3, "compute": 3}, {"stall_dram.weights": 90}, "compute"),
        ({}, {"stall_dram.weights": 2, "stall_dram.inputs": 2, "stall_noc": 3}, "dram"),
        ({"dram": 0}, {"imbalance": 1}, "imbalance"),
        ({}, {}, "compute"),
        ({"compute": 4, "weight_load": 5}, {}, "weight_load"),
        ({"compute": 4, "fill_drain": 3, "edge_underfill": 3}, {"stall_dram": 9}, "compute"),
        ({}, {"stall_dram.weights": 3, "compute": 4, "edge_underfill": 5}, "edge_underfill"),
    ],
)
def test_bound_by(critical: dict[str, int], stalls: dict[str, int], bound: str) -> None:
    assert bound_by(critical, stalls) == bound


def test_slots_of_two_tiles() -> None:
    """Peak 8: 65 cycles are 520 slots. 28 busy cycles at 4 slots for 100 MACs: half the slots go to the dtype."""
    run = tile_pipeline()
    used = tuple(replace(r, macs=50, slots_per_cycle=4) for r in run.records[UNITS[1]])
    run = replace(run, records={**run.records, UNITS[1]: Records.of(UNITS[1], used)})
    found = slots(run, FakeArray("mxu", 10**9, Fraction(8)))
    assert tuple(found) == CAUSES.slots
    assert nonzero(found) == {
        "useful": 100,
        "edge_underfill": 28 * 4 - 100,
        "dtype_loss": 28 * 4,
        "fill_drain": 12 * 8,
        "stall_dram": 16 * 8,
        "stall_sram_port": 4 * 8,
        "idle": 5 * 8,
    }
    assert sum(found.values()) == 65 * 8


def test_slots_of_several_arrays_and_unused_ones() -> None:
    units = ("core[0].array", "core[0].small")
    run = activity(record(units[0], 0, (0, 0, 10), macs=70, slots=8), total=12, units=units)
    found = slots(run, FakeArray("big", 10**9, Fraction(8)), FakeArray("small", 10**9, Fraction(3, 2)))
    assert nonzero(found) == {"useful": 70, "edge_underfill": 10, "idle": 2 * 8 + 12 * 3 // 2}


def test_slots_of_an_array_on_another_clock() -> None:
    """Array at 1.5 GHz, peak 4 a cycle = 6 a reference cycle. 2 ns of fill are 3 of its cycles, 8 ns of work 12."""
    unit = "core[0].array"
    phases = (("fill_drain", 2), ("busy", 10))
    run = activity(record(unit, 0, (0, 0, 10), None, phases, macs=46, slots=4), total=11, units=(unit,))
    array = FakeArray("mxu", 15 * 10**8, Fraction(4))
    assert nonzero(slots(run, array)) == {"useful": 46, "edge_underfill": 2, "fill_drain": 12, "idle": 6}
    assert peak_macs_per_cycle(FakeChip(10**9, (array,))) == 6  # type: ignore[arg-type]


def test_slots_that_are_not_whole() -> None:
    """Peak 3/2: 3 cycles are 4.5 slots, reported as 5; each share within one slot of its exact value."""
    unit = "core[0].array"
    run = activity(record(unit, 0, (0, 1, 2), macs=1, slots=2), total=3, units=(unit,))
    found = slots(run, FakeArray("mxu", 10**9, Fraction(3, 2)))
    assert sum(found.values()) == 5
    assert found["useful"] == 1
    assert {found["stall_dependency"], found["idle"]} == {1, 2}


def test_a_unit_that_multiplies_must_be_an_array_of_the_chip() -> None:
    run = activity(record("core[0].other", 0, (0, 0, 1), op="MATMUL"), units=("core[0].other",))
    with pytest.raises(SimulationError, match="none of the arrays: mxu"):
        array_units(run, FakeChip(10**9, (FakeArray("mxu", 10**9, Fraction(1)),)))  # type: ignore[arg-type]
