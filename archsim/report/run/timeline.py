"""Timelines of the slowest layers, small enough to be stored: stretches per unit in whole cycles.

A stretch is ``[start, end, cause, state]``; state is ``work`` (the unit runs a command of the layer), ``other`` (a
command of another layer) or ``wait`` (a command heads the queue and has not started). Work is coloured by the phase of
the command, a wait by its cause. Stretches shorter than a pixel are merged. Of many cores that work on a layer the
busiest, one in the middle and the idlest are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from archsim.base.arrays import AnyArray, IntArray
from archsim.ir.activity import Activity, edge_ps
from archsim.ir.causes import CAUSES
from archsim.ir.records import Records
from archsim.ir.result import LayerResult
from archsim.ir.timeline import Timeline
from archsim.report.run.details import ShownCores, WindowDetails
from archsim.sim.attribution import boundaries
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
        pieces = _Pieces(edge_ps(low, hz), edge_ps(high, hz))
        pieces.fill(activity.records[unit], layer.name, states[unit], activity.total_ps)
        found = pieces.stretches(hz, low, high)
        if found:
            units[unit] = found
    window: WindowDetails = {"layer": layer.name, "cycles_start": low, "cycles_end": high, "units": units}
    if cores:
        window["cores"] = cores
    return window


def place(unit: str) -> tuple[bool, int, str]:
    """Where a unit stands: by the number of its core, those of none last."""
    core = queue_core(unit)
    return core is None, core or 0, unit


class _Pieces:
    """What a unit does in [low_ps, high_ps), as columns: times in picoseconds, and numbers of causes with states."""

    def __init__(self, low_ps: int, high_ps: int) -> None:
        self._low_ps, self._high_ps = low_ps, high_ps
        self._parts: list[tuple[IntArray, IntArray, IntArray]] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def fill(self, records: Records, layer: str, states: Timeline, total_ps: int) -> None:
        """Take the phases of the commands that run, and between commands what the unit waits for."""
        columns = records.columns()
        first = int(np.searchsorted(columns.end_ps, self._low_ps, "right"))
        last = max(first, int(np.searchsorted(columns.start_ps, self._high_ps)))
        work = records.stretches(np.arange(first, last))
        own = np.array([text.layer == layer for text in records.texts], dtype=np.bool_)[columns.text[work.record]]
        causes = [CAUSES.engines.get(phase, phase or "busy") for phase in records.names]
        other, working = (self._of(causes, state)[work.phase] for state in ("other", "work"))
        self._parts.append((work.start_ps, work.end_ps, np.where(own, working, other)))
        since_ps = np.concatenate(([self._low_ps], work.end_ps))
        self._wait(states, total_ps, since_ps, np.concatenate((work.start_ps, [self._high_ps])))

    def _wait(self, states: Timeline, total_ps: int, low_ps: IntArray, high_ps: IntArray) -> None:
        """Take what the unit waits for in the gaps [low, high), idle time left out."""
        some = low_ps < high_ps
        low_ps, high_ps = low_ps[some], high_ps[some]
        first = np.maximum(np.searchsorted(states.start_ps, low_ps, "right") - 1, 0)
        count = np.searchsorted(states.start_ps, high_ps) - first
        gap = np.repeat(np.arange(len(first)), count)
        at = np.arange(len(gap)) + (first + count - np.cumsum(count))[gap]
        causes = [state.cause for state in states.states]
        waits = np.array([cause != "idle" for cause in causes], dtype=np.bool_)[states.state[at]]
        at, gap = at[waits], gap[waits]
        start_ps = np.maximum(states.start_ps[at], low_ps[gap])
        end_ps = np.minimum(np.append(states.start_ps[1:], total_ps)[at], high_ps[gap])
        self._parts.append((start_ps, end_ps, self._of(causes, "wait")[states.state[at]]))

    def _of(self, causes: Sequence[str], state: str) -> IntArray:
        """The numbers of causes in a state."""
        numbers = [self._numbers.setdefault((cause, state), len(self._numbers)) for cause in causes]
        return np.array(numbers, dtype=np.int64)

    def stretches(self, hz: int, low: int, high: int) -> list[list[Any]]:
        """Those inside [low, high) cycles: neighbours of one cause and state are joined, and what is shorter than a
        pixel joins what precedes it."""
        start_ps, end_ps, number = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(start_ps, kind="stable")
        start = np.maximum(boundaries(start_ps[order], hz), low)
        end = np.minimum(boundaries(end_ps[order], hz), high)
        some = end > start
        start, end, number = start[some], end[some], number[order][some]
        begins = _begins(start, end, number, (high - low) / PIXELS)
        ends = [*(begin - 1 for begin in begins[1:]), len(end) - 1][: len(begins)]
        columns = (start[begins], end[ends], number[begins])
        names = list(self._numbers)
        return [[a, b, *names[what]] for a, b, what in zip(*(column.tolist() for column in columns), strict=True)]


def _begins(start: AnyArray, end: AnyArray, number: IntArray, pixel: float) -> list[int]:
    """With which pieces, in order of time, a stretch begins; all but some thousand cannot for their length."""
    apart = start[1:] - end[:-1] >= pixel
    may = np.flatnonzero(np.concatenate(([True], apart | (end - start >= pixel)[1:]))[: len(start)])
    found: list[int] = []
    for at, what in zip(may.tolist(), number[may].tolist(), strict=True):
        if not found or apart[at - 1] or what != number[found[-1]]:
            found.append(at)
    return found
