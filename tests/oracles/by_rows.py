"""What is read of records, row by row: the phases of a command, the critical path, and the stretches of a timeline."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archsim.ir.activity import Activity, edge_ps, to_cycles
from archsim.ir.causes import CAUSES
from archsim.ir.records import Records
from archsim.ir.rows import Record
from archsim.ir.timeline import Timeline
from archsim.sim.critical import HOST, PathSegment

TimelineStretch = tuple[int, int, str, str]
_PS = 10**12


def phases(record: Record) -> Iterator[tuple[int, int, str]]:
    """(start_ps, end_ps, phase) of a command, tiling [start, end); time without phase is '' at the end."""
    now = record.start_ps
    for phase, until in record.phases:
        if until > now:
            yield now, until, phase
            now = until
    if now < record.end_ps:
        yield now, record.end_ps, ""


def critical_path(activity: Activity, clocks_hz: Mapping[str, int] | None = None) -> list[PathSegment]:
    """As ``archsim.sim.critical`` has it, walked command by command."""
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
    return [segment for segment in reversed(backwards) if segment.end_ps > segment.start_ps]


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


def stretches(
    activity: Activity, unit: str, states: Timeline, layer: str, cycles: tuple[int, int], pixels: int
) -> list[list[Any]]:
    """The stretches of a unit in the window of a layer (``archsim.report.run.timeline``), piece by piece."""
    low, high, hz = *cycles, activity.clock_hz
    found = _Stretches(hz, low, high, pixels)
    work = _work(activity.records[unit], layer, edge_ps(low, hz), edge_ps(high, hz))
    edges_ps = [*states.start_ps.tolist(), activity.total_ps]
    causes = [states.states[number].cause for number in states.state.tolist()]
    _fill(found, work, edges_ps, causes, edge_ps(low, hz), edge_ps(high, hz))
    return found.done


class _Stretches:
    """Stretches of one unit inside [low, high) cycles, as they are found: neighbours of one cause and state are joined,
    and what is shorter than a pixel joins what precedes it."""

    def __init__(self, clock_hz: int, low: int, high: int, pixels: int) -> None:
        self.done: list[list[Any]] = []
        self._hz, self._low, self._high = clock_hz, low, high
        self._resolution = (high - low) / pixels
        self._end_ps = self._end = 0  # of the last piece, in picoseconds and in cycles

    def add(self, start_ps: int, end_ps: int, cause: str, state: str) -> None:
        """Append a piece."""
        start = self._end if start_ps == self._end_ps else to_cycles(start_ps, self._hz)
        end = to_cycles(end_ps, self._hz)
        self._end_ps, self._end = end_ps, end
        if start < self._low:
            start = self._low
        if end > self._high:
            end = self._high
        if end <= start:
            return
        if self.done:
            last = self.done[-1]
            same = last[2] == cause and last[3] == state
            if start - last[1] < self._resolution and (same or end - start < self._resolution):
                last[1] = max(last[1], end)
                return
        self.done.append([start, end, cause, state])


def _work(records: Sequence[Record], layer: str, low_ps: int, high_ps: int) -> Iterator[TimelineStretch]:
    """Phases of the commands that run in [low, high)."""
    first = bisect_right(records, low_ps, key=lambda record: record.end_ps)
    for at in range(first, len(records)):
        record = records[at]
        if record.start_ps >= high_ps:
            return
        for start, end, phase in phases(record):
            cause = CAUSES.engines.get(phase, phase or "busy")
            yield start, end, cause, "work" if record.layer == layer else "other"


def _fill(
    found: _Stretches,
    work: Iterator[TimelineStretch],
    edges_ps: list[int],
    causes: list[str],
    low_ps: int,
    high_ps: int,
) -> None:
    """Add ``work``, and between its stretches what the unit waits for: ``causes[i]`` from edge i to the next."""
    now = low_ps
    for stretch in work:
        _wait(found, edges_ps, causes, now, stretch[0])
        found.add(*stretch)
        now = stretch[1]
    _wait(found, edges_ps, causes, now, high_ps)


def _wait(found: _Stretches, edges_ps: list[int], causes: list[str], low_ps: int, high_ps: int) -> None:
    """Add the causes of [low, high), idle time left out."""
    if low_ps >= high_ps:
        return
    first, last = bisect_right(edges_ps, low_ps) - 1, bisect_left(edges_ps, high_ps)
    begin = low_ps
    for index in range(first, min(last, len(causes))):
        end = edges_ps[index + 1]
        if causes[index] != "idle":
            found.add(begin, min(end, high_ps), causes[index], "wait")
        begin = end
