"""trace.json: Chrome trace events (loads in ui.perfetto.dev): tracks per unit; bandwidth, rows, occupancy, power.

Format: "Trace Event Format" (Chromium project): complete events ``X`` with ``ts`` and ``dur`` in us, counter
events ``C``, metadata ``M``. Waits are events of category ``wait`` before the command they delay.

Counters show how full each memory's rings are, from the Program's tokens and the times of its commands: a slot of a
ring is held from the start of the command that takes its ``free`` token to the end of the command that gives it back;
with several readers, to the last of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from archsim.ir.activity import Activity
from archsim.ir.program import Program, Ring
from archsim.ir.result import Result
from archsim.ir.rows import Record
from archsim.ir.unroll import unroll
from archsim.report.run.dram_windows import by_window, edge, hit_rate

Levels = dict[str, list[tuple[int, int]]]  # memory -> (time_ps, bytes held from then on), in time order


def occupancy(program: Program, activity: Activity) -> Levels:
    """Bytes held by rings, per memory, whenever that changes."""
    rings = {f"{ring.name}.free": ring for ring in program.rings}
    changes: dict[str, list[tuple[int, int]]] = {ring.memory: [] for ring in program.rings}
    returned: dict[str, dict[str, list[int]]] = {ring.name: {} for ring in program.rings}
    for queue in program.queues:
        records = activity.records.get(queue.name, ())
        for record, step in zip(records, unroll(queue), strict=False):
            for ring, slots in _tokens(step.waits, rings):
                changes[ring.memory].append((record.start_ps, slots * ring.slot_bytes))
            for ring, slots in _tokens(step.signals, rings):
                returned[ring.name].setdefault(queue.name, []).extend([record.end_ps] * slots)
    for ring in program.rings:
        changes[ring.memory] += [(time, -ring.slot_bytes) for time in _released(ring, returned[ring.name])]
    return {memory: _running(rows) for memory, rows in sorted(changes.items())}


def _tokens(tokens: tuple[tuple[str, int], ...], rings: Mapping[str, Ring]) -> Iterator[tuple[Ring, int]]:
    for name, n in tokens:
        if name in rings:
            yield rings[name], n


def _released(ring: Ring, by_reader: Mapping[str, list[int]]) -> list[int]:
    """Times at which a slot is free again: the last of its readers' signals, slot by slot."""
    readers = [by_reader.get(reader, []) for reader in ring.readers] or [*by_reader.values()]
    return [max(times) for times in zip(*readers, strict=False)]


def _running(changes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    levels: list[tuple[int, int]] = []
    held = 0
    for time, change in sorted(changes):
        held += change
        if levels and levels[-1][0] == time:
            levels[-1] = (time, held)
        else:
            levels.append((time, held))
    return levels


PS_PER_US = 1_000_000
BINS = 2000  # windows of the counters of memories over the run
UNITS, COUNTERS = 1, 2  # process ids

TraceEvent = dict[str, Any]


def trace_json(result: Result, program: Program | None = None) -> str:
    """The trace as JSON text; occupancy needs the ``program``. Raises ValueError without an activity."""
    if result.activity is None:
        raise ValueError("the result holds no activity to trace")
    events = [
        *_names(result.activity),
        *_commands(result.activity),
        *_bandwidth(result.activity),
        *_rows(result.activity),
        *_power(result),
    ]
    if program is not None:
        events.extend(_occupancy(program, result.activity))
    about = {
        "workload": result.workload["name"],
        "chip": result.architecture["name"],
        "clock_hz": result.architecture["clock_hz"],
    }
    lines = ",\n".join(json.dumps(event, separators=(",", ":"), ensure_ascii=False) for event in events)
    head = f'{{"displayTimeUnit":"ns","otherData":{json.dumps(about, ensure_ascii=False)},'
    return f'{head}"traceEvents":[\n{lines}\n]}}\n'


def _names(activity: Activity) -> Iterator[TraceEvent]:
    yield {"ph": "M", "pid": UNITS, "tid": 0, "name": "process_name", "args": {"name": "units"}}
    yield {
        "ph": "M",
        "pid": COUNTERS,
        "tid": 0,
        "name": "process_name",
        "args": {"name": "memories and power"},
    }
    for tid, unit in enumerate(sorted(activity.records), start=1):
        yield {"ph": "M", "pid": UNITS, "tid": tid, "name": "thread_name", "args": {"name": unit}}
        yield {"ph": "M", "pid": UNITS, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": tid}}


def _commands(activity: Activity) -> Iterator[TraceEvent]:
    for tid, unit in enumerate(sorted(activity.records), start=1):
        for record in activity.records[unit]:
            if record.start_ps > record.head_ps:
                yield _span(
                    tid,
                    "wait",
                    f"wait {record.name}",
                    record.head_ps,
                    record.start_ps,
                    _waits_for(activity, record),
                )
            args = {
                "layer": record.layer,
                "op": record.op,
                "role": record.role,
                "macs": record.macs,
                "index": record.index,
            }
            yield _span(tid, record.layer or "none", record.name, record.start_ps, record.end_ps, args)
            yield from _phases(tid, record)


def _phases(tid: int, record: Record) -> Iterator[TraceEvent]:
    if len(record.phases) < 2:
        return
    since = record.start_ps
    for cause, until in record.phases:
        if until > since:
            yield _span(tid, "phase", cause, since, until, {})
        since = until


def _waits_for(activity: Activity, record: Record) -> TraceEvent:
    if record.critical is None:
        return {}
    unit, index = record.critical
    return {"unit": unit, "command": activity.records[unit][index].name}


def _span(tid: int, category: str, name: str, start_ps: int, end_ps: int, args: TraceEvent) -> TraceEvent:
    times = {"ts": start_ps / PS_PER_US, "dur": (end_ps - start_ps) / PS_PER_US}
    return {"ph": "X", "pid": UNITS, "tid": tid, "cat": category, "name": name, **times, "args": args}


def _bandwidth(activity: Activity) -> Iterator[TraceEvent]:
    """GB/s of each memory, read and written, averaged over windows of 1/BINS of the run."""
    total_ps, bins = activity.total_ps, min(BINS, activity.total_ps)
    for memory, streams in activity.bandwidth.by_memory.items():
        reads, writes = (
            by_window(streams.pick(way), "size_bytes", total_ps, bins) for way in (~streams.write, streams.write)
        )
        for index, (read, written) in enumerate(zip(reads, writes, strict=True)):
            start_ps = edge(index, total_ps, bins)
            window_ps = edge(index + 1, total_ps, bins) - start_ps
            values = {"read": _gb_per_s(read, window_ps), "write": _gb_per_s(written, window_ps)}
            yield _counter(f"{memory} GB/s", start_ps, values)


def _rows(activity: Activity) -> Iterator[TraceEvent]:
    """Row-hit rate of each DRAM part in the windows in which something moved, and its row conflicts in all."""
    total_ps, bins = activity.total_ps, min(BINS, activity.total_ps)
    for memory in sorted(activity.dram):
        streams = activity.bandwidth.transfers(memory)
        if streams is None:
            continue
        names = ("row_hits", "row_misses", "row_conflicts")
        rows = [by_window(streams, name, total_ps, bins) for name in names]
        if not any(map(any, rows)):
            continue
        for index, (hits, misses, conflicts) in enumerate(zip(*rows, strict=True)):
            start_ps, rate = edge(index, total_ps, bins), hit_rate(hits, misses, conflicts)
            if rate is not None:
                yield _counter(f"{memory} row-hit rate", start_ps, {"rate": round(rate, 4)})
            yield _counter(f"{memory} row conflicts", start_ps, {"conflicts": conflicts})


def _gb_per_s(size_bytes: int, window_ps: int) -> float:
    return round(size_bytes * 1000 / window_ps, 4)


def _power(result: Result) -> Iterator[TraceEvent]:
    for time_s, watts in result.power_trace:
        yield {
            "ph": "C",
            "pid": COUNTERS,
            "tid": 0,
            "name": "power W",
            "ts": time_s * 1e6,
            "args": {"W": watts},
        }


def _occupancy(program: Program, activity: Activity) -> Iterator[TraceEvent]:
    for memory, levels in occupancy(program, activity).items():
        for time_ps, held in levels:
            yield _counter(f"{memory} bytes held by rings", time_ps, {"bytes": held})


def _counter(name: str, time_ps: int, values: dict[str, float]) -> TraceEvent:
    return {"ph": "C", "pid": COUNTERS, "tid": 0, "name": name, "ts": time_ps / PS_PER_US, "args": values}
