"""The critical path: which commands the run's length consists of, and what bound each layer.

From the command that ended last, walk back: to the command whose signal met the last wait, or, where nothing
was waited for, to the one before in the same queue. What lies between a command and its predecessor's end (a
clock crossing) is ``dependency``. The segments tile [0, total) without gap; time after the last command is
the host's.

    command            cause on the path
    load, store        dram, noc, sram_port: its phases, as the table of causes has them (``ir.causes``)
    array              weight_load, fill_drain: its phases; of what is left compute, the time that its MACs take at
                       the pace of the formats used, and edge_underfill, the rest; sram_port where stretched
    vector             compute; sram_port where stretched
    host, SETUP        launch

So a layer is bound by compute only where useful work is the largest share of it.
Fewer cycles on the path is what a layer's optimisation can gain at most, before another path becomes
critical.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from archsim.ir.activity import Activity, to_cycles
from archsim.ir.causes import CAUSES
from archsim.ir.records import Records
from archsim.ir.rows import Record
from archsim.sim.blame import phases

HOST = "_host"
_PS = 10**12


@dataclass(frozen=True, slots=True)
class PathSegment:
    """[start_ps, end_ps) of the path: ``layer`` and ``cause`` that it is charged to, ``unit`` that ran ('' in gaps)."""

    start_ps: int
    end_ps: int
    layer: str
    cause: str
    unit: str


def critical_path(activity: Activity, clocks_hz: Mapping[str, int] | None = None) -> tuple[PathSegment, ...]:
    """Segments of the critical path in order of time, tiling [0, total) without gap.

    ``clocks_hz``: the clock of each unit that is an array, the chip's where it is not said.
    """
    clocks_hz = clocks_hz or {}
    backwards: list[PathSegment] = []
    covered = activity.total_ps
    record = _last(activity)
    if record is None or record.end_ps < covered:
        backwards.append(PathSegment(record.end_ps if record else 0, covered, HOST, "launch", ""))
    while record is not None:
        own_hz = clocks_hz.get(record.unit, activity.clock_hz)
        backwards.extend(reversed(list(_segments(record, own_hz))))
        before = _predecessor(activity.records, record)
        reached = before.end_ps if before else 0
        if reached < record.start_ps:
            backwards.append(PathSegment(reached, record.start_ps, record.layer or HOST, "dependency", ""))
        record = before
    return tuple(segment for segment in reversed(backwards) if segment.end_ps > segment.start_ps)


def critical_cycles(path: tuple[PathSegment, ...], clock_hz: int) -> dict[str, dict[str, int]]:
    """Layer -> cause -> cycles on the path; sums to the run's cycles, exactly (boundaries are rounded)."""
    found: dict[str, dict[str, int]] = {}
    for segment in path:
        cycles = to_cycles(segment.end_ps, clock_hz) - to_cycles(segment.start_ps, clock_hz)
        causes = found.setdefault(segment.layer, {})
        causes[segment.cause] = causes.get(segment.cause, 0) + cycles
    return found


def bound_by(critical: Mapping[str, int], shares: Mapping[str, int]) -> str:
    """What bounds a layer: the largest cause of its critical cycles, else of its arrays' time, else compute.

    ``shares``: of its arrays' time 'cause.operand' -> cycles of stalls, and those of causes by their names. Ties go to
    the first of ``CAUSES.bounds``.
    """
    if any(critical.values()):
        return max(CAUSES.bounds, key=lambda cause: critical.get(cause, 0))
    sums = dict.fromkeys(CAUSES.bounds, 0)
    for key, cycles in shares.items():
        word = key.partition(".")[0]
        sums[CAUSES.bound_of.get(word, word)] += cycles
    return max(CAUSES.bounds, key=lambda cause: sums[cause])


def _last(activity: Activity) -> Record | None:
    """The command that ended last; of several the one of the first unit, earliest in its queue."""
    ends = [queue[-1].end_ps for queue in activity.records.values() if queue]
    for queue in activity.records.values():
        if queue and queue[-1].end_ps == max(ends):
            return queue[-1]
    return None


def _predecessor(records: Mapping[str, Records], record: Record) -> Record | None:
    if record.critical is None:
        return records[record.unit][record.index - 1] if record.index else None
    unit, index = record.critical
    return records[unit][index]


def _segments(record: Record, own_hz: int) -> Iterator[PathSegment]:
    layer = record.layer or HOST
    for start, end, phase in phases(record):
        cause = _cause(record.op, phase)
        if cause != "compute" or not record.slots_per_cycle:
            yield PathSegment(start, end, layer, cause, record.unit)
            continue
        useful = min(end, start + record.macs * _PS // (record.slots_per_cycle * own_hz))
        yield PathSegment(start, useful, layer, cause, record.unit)
        yield PathSegment(useful, end, layer, "edge_underfill", record.unit)


def _cause(op: str, phase: str) -> str:
    if op in ("HOST", "SETUP"):
        return "launch"
    if phase in CAUSES.on_path:
        return CAUSES.on_path[phase]
    return "compute" if op in ("MATMUL", "VECTOR") else "dependency"
