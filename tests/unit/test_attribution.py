"""Attribution on timelines written by hand, with every number worked out beside it. One cycle is one ns."""

from __future__ import annotations

import pytest
from fixtures_timeline import UNITS, activity, record, row, tile_pipeline

from archsim.base.errors import SimulationError
from archsim.ir.activity import Activity
from archsim.ir.bandwidth import BandwidthTrace
from archsim.ir.records import Records
from archsim.ir.timeline import UnitState
from archsim.sim import blame, blame_at_once
from archsim.sim.attribution import attribute


def test_a_pipeline_of_two_tiles() -> None:
    cube = attribute(tile_pipeline())
    assert cube.cycles_total == 65
    assert row(cube, UNITS[0]) == {"busy": 20, "stall_compute": 20, "idle": 25}
    # the array waits for weights [0,10) and for inputs [30,40): 8 ns DRAM and 2 ns port each
    assert row(cube, UNITS[1]) == {"busy": 28, "fill_drain": 12, "stall_dram": 16, "stall_sram_port": 4, "idle": 5}
    # the store waits [0,10) for the load through the array, [10,30) for the array, [35,40) for the load again
    assert row(cube, UNITS[3]) == {"busy": 10, "stall_dram": 8 + 3, "stall_sram_port": 2 + 2, "stall_compute": 20 + 20}
    assert row(cube, UNITS[2]) == {"idle": 65}


def test_stalls_carry_the_operand_of_the_move() -> None:
    cube = attribute(tile_pipeline())
    assert cube.stalls([UNITS[1]]) == {
        "l0": {
            "stall_dram.inputs": 8,
            "stall_dram.weights": 8,
            "stall_sram_port.inputs": 2,
            "stall_sram_port.weights": 2,
        }
    }
    assert cube.by_layer(UNITS[1])[""] == {"idle": 5}


def test_a_wait_behind_another_move_is_that_moves() -> None:
    """The array waits for inputs, which wait behind weights in the load queue: the weights' time is the weights'."""
    cube = attribute(
        activity(
            record(UNITS[0], 0, (0, 0, 6), None, (("dram", 6),), role="weights"),
            record(UNITS[0], 1, (6, 6, 10), None, (("dram", 10),), role="inputs"),
            record(UNITS[1], 0, (0, 10, 20), (UNITS[0], 1)),
        )
    )
    assert cube.stalls([UNITS[1]]) == {"l0": {"stall_dram.inputs": 4, "stall_dram.weights": 6}}


def test_vector_other_layer_and_launch() -> None:
    """Dependency = vector work or another layer's array; the host's launch reaches the array through the load."""
    host = "host"
    cube = attribute(
        activity(
            record(host, 0, (0, 0, 5), None, (("launch", 5),), layer=""),
            record(UNITS[0], 0, (0, 5, 8), (host, 0), (("noc", 8),), role="inputs"),
            record(UNITS[1], 0, (0, 8, 18), (UNITS[0], 0)),
            record(UNITS[2], 0, (0, 18, 22), (UNITS[1], 0), (("busy", 21), ("sram_port", 22)), role="outputs"),
            record(UNITS[1], 1, (18, 22, 30), (UNITS[2], 0), layer="l1"),
            record(UNITS[0], 1, (8, 30, 31), (UNITS[1], 1), (("dram", 31),)),
            units=(*UNITS, host),
        )
    )
    assert row(cube, UNITS[1]) == {
        "launch": 5,
        "stall_noc": 3,
        "busy": 18,
        "stall_dependency": 3,
        "stall_sram_port": 1,
        "idle": 1,
    }
    assert row(cube, UNITS[2])["stall_compute"] == 10
    # the load waits for the array's l1 command: [8,18) its l0 work, [18,22) the vector, [22,30) another layer
    assert row(cube, UNITS[0]) == {
        "launch": 5, "busy": 4, "stall_compute": 10, "stall_dependency": 3 + 8, "stall_sram_port": 1,
    }  # fmt: skip
    assert row(cube, host) == {"busy": 5, "idle": 26}


def test_setup_is_launch_in_its_own_row() -> None:
    cube = attribute(
        activity(
            record(UNITS[1], 0, (0, 0, 4), None, (("launch", 4),), op="SETUP"),
            record(UNITS[1], 1, (4, 4, 9)),
            record(UNITS[3], 0, (0, 9, 10), (UNITS[1], 1), (("dram", 10),)),
        )
    )
    assert row(cube, UNITS[1]) == {"launch": 4, "busy": 5, "idle": 1}
    assert row(cube, UNITS[3]) == {"launch": 4, "stall_compute": 5, "busy": 1}


def test_two_cores_imbalance_during_and_after() -> None:
    """Law 31 in small: works 10 and 16 in one layer; then core 0 starts the next layer after core 1 is done."""
    arrays = ("core[0].array", "core[1].array")
    cube = attribute(
        activity(
            record(arrays[0], 0, (0, 0, 10)),
            record(arrays[1], 0, (0, 0, 16)),
            record(arrays[0], 1, (10, 16, 20), (arrays[1], 0), layer="l0"),
            record(arrays[0], 2, (20, 20, 24), layer="l1"),
            record(arrays[1], 1, (16, 20, 30), (arrays[0], 1), layer="l1"),
            total=32,
            units=arrays,
        )
    )
    assert row(cube, arrays[0]) == {"busy": 18, "imbalance": 6 + 6, "idle": 2}
    # core 1 waits in l1 for core 0 in l0: another layer's array
    assert row(cube, arrays[1]) == {"busy": 26, "stall_dependency": 4, "idle": 2}


def test_an_array_that_waits_for_another_array_of_its_core_depends_on_it() -> None:
    arrays = ("core[0].array", "core[0].small")
    cube = attribute(
        activity(
            record(arrays[0], 0, (0, 0, 10), op="MATMUL"),
            record(arrays[1], 0, (0, 10, 12), (arrays[0], 0), op="MATMUL"),
            units=arrays,
        )
    )
    assert row(cube, arrays[1]) == {"stall_dependency": 10, "busy": 2}


def test_a_crossing_belongs_to_what_crossed() -> None:
    """The load's signal takes 3 ns to be seen: still the load's last phase, although it idles by then."""
    cube = attribute(
        activity(
            record(UNITS[0], 0, (0, 0, 7), None, (("dram", 7),), role="weights"),
            record(UNITS[1], 0, (0, 10, 12), (UNITS[0], 0)),
        )
    )
    assert row(cube, UNITS[1]) == {"stall_dram": 10, "busy": 2}


def test_commands_without_length() -> None:
    """A chain of syncs at one instant resolves; nobody is blamed for a wait for nothing."""
    sync = {"op": "SYNC", "phases": (("busy", 5),)}
    cube = attribute(
        activity(
            record(UNITS[0], 0, (0, 0, 5), None, (("dram", 5),), role="inputs"),
            record(UNITS[1], 0, (0, 5, 5), (UNITS[2], 0), **sync),
            record(UNITS[2], 0, (0, 5, 5), (UNITS[0], 0), **sync),
            record(UNITS[3], 0, (0, 7, 9), (UNITS[1], 0), (("dram", 9),)),
        )
    )
    assert row(cube, UNITS[1]) == {"stall_dram": 5, "idle": 4}
    assert row(cube, UNITS[3]) == {"stall_dram": 5, "stall_dependency": 2, "busy": 2}


def test_boundaries_are_rounded_not_durations() -> None:
    """Three commands of 1.5 cycles: durations rounded up would make 6 cycles of 4.5; boundaries make 2 + 1 + 2 = 5."""
    base = activity(*(record(UNITS[1], i, (3 * i, 3 * i, 3 * i + 3), layer=f"l{i}") for i in range(3)))
    cube = attribute(Activity("half", base.total_ps, 5 * 10**8, base.records, {}, {}, BandwidthTrace({}), {}))
    assert cube.cycles_total == 5
    assert [cube.rows[UNITS[1]][UnitState(f"l{i}", "busy", "")] for i in range(3)] == [2, 1, 2]


def test_an_empty_run_and_unused_units() -> None:
    cube = attribute(Activity("none", 0, 10**9, {"host": Records("host")}, {}, {}, BandwidthTrace({}), {}))
    assert cube.cycles_total == 0
    assert sum(cube.time_breakdown()["host"].values()) == 0


@pytest.mark.parametrize("many", [0, blame.MANY])
def test_waits_that_depend_on_each_other_are_refused(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blame, "MANY", many)
    broken = activity(
        record(UNITS[0], 0, (0, 5, 6), (UNITS[1], 0), (("dram", 6),)),
        record(UNITS[1], 0, (0, 5, 6), (UNITS[0], 0)),
    )
    with pytest.raises(SimulationError, match="depend on each other"):
        attribute(broken)


def test_many_commands_are_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait costs the stretches it covers, so slices stay in proportion to commands; compiled code, whose pages and
    their numbers grow more than once here, finds the same."""
    records = []
    for i in range(5000):
        end = 3 * i + 3
        records.append(record(UNITS[0], i, (3 * i, 3 * i, end), None, (("dram", end - 1), ("sram_port", end))))
        records.append(record(UNITS[1], i, (end - 1 if i else 0, end, end + 2), (UNITS[0], i)))
        records.append(record(UNITS[3], i, (end if i else 0, end + 2, end + 3), (UNITS[1], i), (("dram", end + 3),)))
    run = activity(*records)
    cube = attribute(run)
    assert sum(len(timeline.start_ps) for timeline in cube.timelines.values()) < 60_000
    monkeypatch.setattr(blame, "MANY", 0)
    monkeypatch.setattr(blame_at_once, "ROOM", 0)
    monkeypatch.setattr(blame_at_once, "PAGES", 1)
    for unit, timeline in attribute(run).timelines.items():
        assert list(timeline.segments(run.total_ps)) == list(cube.timelines[unit].segments(run.total_ps))
