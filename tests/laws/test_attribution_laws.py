"""Law 35 and the critical path on random timelines, and the blame chain walked instant by instant."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from token_timelines import PHASES, World, activities, jobs, simulate

from archsim.ir.activity import Activity, to_cycles
from archsim.ir.causes import CAUSES
from archsim.ir.records import Records
from archsim.ir.rows import Record
from archsim.report.run import timeline as windows
from archsim.sim import blame
from archsim.sim.attribution import attribute
from archsim.sim.critical import bound_by, critical_cycles, critical_path
from archsim.sim.mac_breakdown import whole
from tests.oracles import by_rows

COMPUTING = ("compute", "edge_underfill", "weight_load", "fill_drain")  # causes on the path that computing engines make
IDEAL = (
    "busy", "weight_load", "fill_drain", "stall_compute", "stall_dependency", "launch", "imbalance", "idle",
)  # fmt: skip
RANDOM = settings(max_examples=60, deadline=None, derandomize=True)


@RANDOM
@given(activities())
def test_each_row_sums_to_the_run(activity: Activity) -> None:
    """Law 35: the causes of each unit sum to cycles_total; timelines start at 0 and have no gap."""
    cube = attribute(activity)
    rows = cube.time_breakdown()
    assert set(rows) == set(activity.records)
    for unit, row in rows.items():
        assert tuple(row) == CAUSES.time
        assert sum(row.values()) == cube.cycles_total == to_cycles(activity.total_ps, activity.clock_hz)
        assert min(row.values()) >= 0
        starts = cube.timelines[unit].start_ps.tolist()
        assert starts == sorted(set(starts))
        assert starts[:1] == [0] or activity.total_ps == 0


@RANDOM
@given(activities())
def test_marginals_of_one_cube(activity: Activity) -> None:
    """Law 35: layers x causes of a unit, and its stalls with operands, are sums of the same cells."""
    cube = attribute(activity)
    for unit, row in cube.time_breakdown().items():
        layers = cube.by_layer(unit)
        for cause in CAUSES.time:
            assert sum(causes.get(cause, 0) for causes in layers.values()) == row[cause]
        stalls = sum(n for found in cube.stalls([unit]).values() for n in found.values())
        wanted = [c for c in CAUSES.time if c.startswith("stall_")] + ["launch", "imbalance"]
        assert stalls == sum(row[cause] for cause in wanted)


@RANDOM
@given(activities())
def test_waits_resolved_at_once_are_those_one_by_one(activity: Activity) -> None:
    """Law 35: compiled code, which resolves the waits of long runs, gives the timelines that Python does."""
    with patch.object(blame, "MANY", 0):
        at_once = blame.timelines(activity)
    for unit, timeline in blame.timelines(activity).items():
        assert list(at_once[unit].segments(activity.total_ps)) == list(timeline.segments(activity.total_ps))
        assert at_once[unit].states == timeline.states


@RANDOM
@given(activities())
def test_blame_is_the_chain_walked_at_each_instant(activity: Activity) -> None:
    """Law 35's cube says at every instant what following critical producers by hand says."""
    cube = attribute(activity)
    for unit, timeline in cube.timelines.items():
        for start, end, state in timeline.segments(activity.total_ps):
            for now in range(start, end):
                assert tuple(state) == _charged(activity, unit, now), (unit, now)


@RANDOM
@given(activities())
def test_critical_path_tiles_the_run(activity: Activity) -> None:
    """Law 35: the path covers [0, total) once; its cycles per layer sum to cycles_total."""
    path = critical_path(activity)
    edges = [segment.start_ps for segment in path] + [activity.total_ps]
    assert edges[0] == 0 or not path
    assert [segment.end_ps for segment in path] == edges[1:]
    cycles = critical_cycles(path, activity.clock_hz)
    assert sum(sum(c.values()) for c in cycles.values()) == to_cycles(activity.total_ps, activity.clock_hz)
    for causes in cycles.values():
        assert bound_by(causes, {}) in causes or not any(causes.values())


@st.composite
def computing(draw: st.DrawFn) -> Activity:
    """Random timelines whose commands of arrays have MACs, perhaps more than there is time for."""
    activity = draw(activities())
    pairs = st.sampled_from(((0, 0), (40, 10), (7, 3), (1 << 40, 2)))
    records = {
        unit: Records.of(
            unit,
            [
                replace(row, macs=macs, slots_per_cycle=slots)
                for row in rows
                for macs, slots in [draw(pairs) if row.op == "MATMUL" else (0, 0)]
            ],
        )
        for unit, rows in activity.records.items()
    }
    return replace(activity, records=records)


@RANDOM
@given(computing(), st.sampled_from(({}, {"core[0].array": 3 * 10**11})))
def test_critical_path_in_columns(activity: Activity, clocks_hz: dict[str, int]) -> None:
    """Law 35: the path is the one that is found walking from command to command."""
    path = critical_path(activity, clocks_hz)
    assert list(path) == by_rows.critical_path(activity, clocks_hz)


@RANDOM
@given(computing(), st.data())
def test_stretches_of_a_timeline_in_columns(activity: Activity, data: st.DataObject) -> None:
    """They are those that are found piece by piece, whatever is joined to pixels, in any window."""
    states, total = attribute(activity).timelines, to_cycles(activity.total_ps, activity.clock_hz)
    low = data.draw(st.integers(0, total))
    high = data.draw(st.integers(low + 1, total + 3))
    pixels = data.draw(st.sampled_from((1, 3, 7, 20, 500)))
    layer: Any = SimpleNamespace(
        name="l0", op="", macs=0, bound_by="", dram_read_bytes=0, cycles_critical=1,
        cycles_total=high - low, cycles_start=low, cycles_end=high,
    )  # fmt: skip
    with patch.object(windows, "PIXELS", pixels):
        (window,) = windows.timeline(activity, states, [layer])
    found = {
        unit: by_rows.stretches(activity, unit, states[unit], "l0", (low, high), pixels) for unit in activity.records
    }
    assert window["units"] == {unit: stretches for unit, stretches in found.items() if stretches}


@RANDOM
@given(jobs(), st.data())
def test_a_faster_command_gains_no_more_than_its_time_on_the_path(queue, data) -> None:  # type: ignore[no-untyped-def]
    """Law 36 (no arbitration): making one cause ideal gains at most its cycles on the critical path."""
    units = tuple(sorted({job.unit for job in queue}))
    before = simulate(queue, units, 0, 10**12)
    cause = data.draw(st.sampled_from(("dram", "noc", "sram_port", "compute", "launch")))
    ideal = tuple(_without(job, cause) for job in queue)
    after = simulate(ideal, units, 0, 10**12)
    causes = COMPUTING if cause == "compute" else (cause,)
    share = sum(s.end_ps - s.start_ps for s in critical_path(before) if s.cause in causes)
    assert 0 <= before.total_ps - after.total_ps <= share


@RANDOM
@given(activities(World(cores=1, kinds=("load", "array", "store"), layers=("l0",), extra=(), least=1)))
def test_a_single_core_layer_without_vector_commands(activity: Activity) -> None:
    """Law 35: array rows of a single-core layer without VECTOR commands have neither dependency nor imbalance."""
    row = attribute(activity).time_breakdown()["core[0].array"]
    assert row["stall_dependency"] == row["imbalance"] == 0


@RANDOM
@given(jobs())
def test_infinite_dram_network_and_ports(queue) -> None:  # type: ignore[no-untyped-def]
    """Law 35: then only busy, weight_load, fill_drain, compute, dependency, launch, imbalance and idle remain."""
    ideal = queue
    for cause in ("dram", "noc", "sram_port"):
        ideal = tuple(_without(job, cause) for job in ideal)
    cube = attribute(simulate(ideal, World().units, 0, 10**12))
    for row in cube.time_breakdown().values():
        assert {cause for cause, cycles in row.items() if cycles} <= set(IDEAL)


@RANDOM
@given(st.lists(st.fractions(0, 100, max_denominator=7), min_size=1, max_size=8))
def test_whole_shares_sum(values: list[Fraction]) -> None:
    """Fractions become integers that sum to the rounded-up total; whole shares stay as they are."""
    shares = {str(index): value for index, value in enumerate(values)}
    total = -(-sum(values).numerator // sum(values).denominator)
    found = whole(shares, total)
    assert sum(found.values()) == total
    assert all(abs(found[key] - share) < 1 for key, share in shares.items())


def _without(job, cause):  # type: ignore[no-untyped-def]
    names = {"compute": ("weight_load", "fill_drain", "busy")}.get(cause, (cause,))
    compute = job.op in ("MATMUL", "VECTOR")
    if cause == "compute" and not compute:
        return job
    lengths = tuple(0 if p in names else n for p, n in zip(PHASES[job.op], job.lengths, strict=True))
    return type(job)(job.unit, job.op, job.layer, job.role, lengths, job.waits, job.delay)


def _charged(activity: Activity, unit: str, now: int) -> tuple[str, str, str]:
    queue = activity.records[unit]
    current = next((r for r in queue if now < r.end_ps), None)
    if current is None:
        return _after(activity, unit, now)
    if now >= current.start_ps:
        return _own(current, now)
    return current.layer, *_waiting(_holder(activity, current, now), current)


def _after(activity: Activity, unit: str, now: int) -> tuple[str, str, str]:
    """The layer that units of its kind end next, of those that they still run."""
    ends: dict[str, int] = {}
    for other, records in activity.records.items():
        if other.split(".")[-1] == unit.rsplit(".", maxsplit=1)[-1]:
            for record in records:
                ends[record.layer] = max(ends.get(record.layer, 0), record.end_ps)
    left = [(end, layer) for layer, end in ends.items() if end > now]
    return (min(left)[1], "imbalance", "") if left else ("", "idle", "")


def _own(record: Record, now: int) -> tuple[str, str, str]:
    phase = _phase(record, now)
    if record.op == "SETUP":
        return record.layer, "launch", ""
    if record.op in ("MATMUL", "VECTOR") and phase == "sram_port":
        return record.layer, "stall_sram_port", record.role
    if record.op == "MATMUL" and phase in ("fill_drain", "weight_load"):
        return record.layer, phase, ""
    return record.layer, "busy", ""


def _phase(record: Record, now: int) -> str:
    return next(phase for phase, until in record.phases if now < until)


def _holder(activity: Activity, waiting: Record, now: int) -> tuple[Record, str] | None:
    """Follow critical producers at the instant ``now`` to a running command."""
    while waiting.critical is not None:
        unit, index = waiting.critical
        producer = activity.records[unit][index]
        if now >= producer.end_ps:
            return (producer, producer.phases[-1][0]) if producer.phases else None
        waiting = next(r for r in activity.records[unit] if now < r.end_ps)
        if now >= waiting.start_ps:
            return waiting, _phase(waiting, now)
    return None


def _waiting(held: tuple[Record, str] | None, waiter: Record) -> tuple[str, str]:
    if held is None:
        return "stall_dependency", ""
    record, phase = held
    if record.op in ("HOST", "SETUP"):
        return "launch", ""
    if record.op == "MOVE":
        return f"stall_{phase}", record.role
    mine, theirs = waiter.unit.split("."), record.unit.split(".")
    if waiter.layer == record.layer and mine[-1] == theirs[-1] and mine[0] != theirs[0]:
        return "imbalance", ""
    if phase == "sram_port":
        return "stall_sram_port", record.role
    if record.op == "MATMUL" and waiter.op != "MATMUL" and mine[0] == theirs[0] and waiter.layer == record.layer:
        return "stall_compute", record.role
    return "stall_dependency", record.role
