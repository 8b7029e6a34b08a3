"""Timelines of the slowest layers, small enough to be stored: stretches per unit in whole cycles.

A stretch is ``[start, end, cause, state]``; state is ``work`` (the unit runs a command of the layer), ``other`` (a
command of another layer) or ``wait`` (a command heads the queue and has not started). Work is coloured by the phase of
the command, a wait by its cause. Stretches shorter than a pixel are merged. Of many cores that work on a layer the
busiest, one in the middle and the idlest are shown.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from archsim.ir.activity import Activity, edge_ps, to_cycles
from archsim.ir.causes import CAUSES
from archsim.ir.records import Records
from archsim.ir.result import LayerResult
from archsim.ir.rows import Record
from archsim.ir.timeline import Timeline
from archsim.report.run.details import ShownCores, WindowDetails
from archsim.sim.blame import phases
from archsim.spec.network import queue_core

ALL = 8  # cores that are all shown
MOVERS = ("load", "store")  # engines that move; the others compute

RecordsByUnit = Mapping[str, Records]


def shown_cores(records: RecordsByUnit, layer: str, low_ps: int, high_ps: int) -> ShownCores | None:
    """``{of, working, busiest, middle, idlest}``: how many cores there are and work on ``layer``, and numbers of three.

    By the time in which their computing engines run its commands in [low, high), of equals by number; by all engines
    where none computes. None where all cores are shown, without the three where none works.
    """
    cores = {core for core in map(queue_core, records) if core is not None}
    if len(cores) <= ALL:
        return None
    work = _worked_ps(records, layer, low_ps, high_ps, movers=False) or _worked_ps(
        records, layer, low_ps, high_ps, movers=True
    )
    order = sorted(work, key=lambda core: (-work[core], core))
    found: ShownCores = {"of": len(cores), "working": len(order)}
    if not order:
        return found
    found["busiest"], found["middle"], found["idlest"] = order[0], order[len(order) // 2], order[-1]
    return found


def is_shown(unit: str, cores: Mapping[str, Any] | None) -> bool:
    """Whether a unit stands in one of the cores, or in none."""
    core = queue_core(unit)
    return not cores or core is None or core in chosen(cores)


def chosen(cores: Mapping[str, Any]) -> list[int]:
    """The cores that are shown, each once, busiest first."""
    return list(dict.fromkeys(cores[which] for which in ("busiest", "middle", "idlest") if which in cores))


def sentence(cores: Mapping[str, Any] | None) -> str:
    """What the page says of the choice; nothing where all are shown."""
    if not cores:
        return ""
    if "busiest" not in cores:
        return f"None of the {cores['of']} cores works on it."
    busiest, middle, idlest = (f"core[{cores[which]}]" for which in ("busiest", "middle", "idlest"))
    return (
        f"{cores['working']} of {cores['of']} cores work on it; shown are the busiest ({busiest}), one in the middle "
        f"({middle}) and the idlest of them ({idlest})."
    )


def _worked_ps(records: RecordsByUnit, layer: str, low_ps: int, high_ps: int, *, movers: bool) -> dict[int, int]:
    """Picoseconds by core, of those with any."""
    found: dict[int, int] = {}
    for unit, done in records.items():
        core = queue_core(unit)
        if core is None or (not movers and unit.rpartition(".")[2].startswith(MOVERS)):
            continue
        worked = _within(done, layer, low_ps, high_ps)
        if worked:
            found[core] = found.get(core, 0) + worked
    return found


def _within(records: Records, layer: str, low_ps: int, high_ps: int) -> int:
    """Picoseconds in which a unit runs commands of a layer in [low, high)."""
    columns = records.columns()
    texts = [number for number, text in enumerate(records.texts) if text.layer == layer]
    own = np.isin(columns.text, texts)
    worked = np.minimum(columns.end_ps[own], high_ps) - np.maximum(columns.start_ps[own], low_ps)
    return int(worked[worked > 0].sum())


LAYERS = 4
PIXELS = 500

TimelineStretch = tuple[int, int, str, str]


def slowest(layers: Sequence[LayerResult], most: int = LAYERS) -> list[LayerResult]:
    """The layers with the longest critical time that ran on the chip, longest first; one of each kind.

    Layers are alike that have the same operator, MACs, bound and DRAM bytes read.
    """
    kinds: dict[tuple[str, int, str, int], LayerResult] = {}
    for layer in sorted(layers, key=lambda layer: (-layer.cycles_critical, layer.name)):
        if layer.cycles_total > 0 and not layer.name.startswith("_"):
            kinds.setdefault((layer.op, layer.macs, layer.bound_by, layer.dram_read_bytes), layer)
    return list(kinds.values())[:most]


def timeline(activity: Activity, states: Mapping[str, Timeline], layers: Sequence[LayerResult]) -> list[WindowDetails]:
    """One window per slow layer: ``{layer, cycles_start, cycles_end, units: {unit: [stretch, ...]}}``.

    ``states``: the timeline of every unit. Of many cores ``cores`` says beside it which are among the units.
    """
    return [_window(activity, states, layer) for layer in slowest(layers)]


def _window(activity: Activity, states: Mapping[str, Timeline], layer: LayerResult) -> WindowDetails:
    low, high, hz = layer.cycles_start, layer.cycles_end, activity.clock_hz
    cores = shown_cores(activity.records, layer.name, edge_ps(low, hz), edge_ps(high, hz))
    units = {}
    for unit in sorted((unit for unit in activity.records if is_shown(unit, cores)), key=place):
        found = _Stretches(hz, low, high)
        work = _work(activity.records[unit], layer.name, edge_ps(low, hz), edge_ps(high, hz))
        edges_ps, causes = [*states[unit].start_ps.tolist(), activity.total_ps], states[unit].causes()
        _fill(found, work, edges_ps, causes, edge_ps(low, hz), edge_ps(high, hz))
        if found.done:
            units[unit] = found.done
    window: WindowDetails = {"layer": layer.name, "cycles_start": low, "cycles_end": high, "units": units}
    if cores:
        window["cores"] = cores
    return window


def place(unit: str) -> tuple[bool, int, str]:
    """Where a unit stands: by the number of its core, those of none last."""
    core = queue_core(unit)
    return core is None, core or 0, unit


class _Stretches:
    """Stretches of one unit inside [low, high) cycles, as they are found: neighbours of one cause and state are joined,
    and what is shorter than a pixel joins what precedes it."""

    def __init__(self, clock_hz: int, low: int, high: int) -> None:
        self.done: list[list[Any]] = []
        self._hz, self._low, self._high = clock_hz, low, high
        self._resolution = (high - low) / PIXELS
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
