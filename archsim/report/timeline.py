"""Timelines of the slowest layers, small enough to be stored: stretches per unit in whole cycles.

A stretch is ``[start, end, cause, state]``; state is ``work`` (the unit runs a command of the layer),
``other`` (a command of another layer) or ``wait`` (a command heads the queue and has not started). Work is
coloured by the phase of the command, a wait by its cause. Stretches shorter than a pixel are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archsim.ir.activity import Activity, Record, to_cycles
from archsim.ir.result import LayerResult
from archsim.sim.blame import MOVE_STALLS, Timeline, phases, timelines

LAYERS = 4
PIXELS = 500

Stretch = tuple[int, int, str, str]


def slowest(layers: Sequence[LayerResult], most: int = LAYERS) -> list[LayerResult]:
    """The layers with the longest critical time that ran on the chip, longest first."""
    real = [layer for layer in layers if layer.cycles_total > 0 and not layer.name.startswith("_")]
    return sorted(real, key=lambda layer: (-layer.cycles_critical, layer.name))[:most]


def timeline(activity: Activity, layers: Sequence[LayerResult]) -> list[dict[str, Any]]:
    """One window per slow layer: ``{layer, cycles_start, cycles_end, units: {unit: [stretch, ...]}}``."""
    states = timelines(activity)
    return [_window(activity, states, layer) for layer in slowest(layers)]


def _window(activity: Activity, states: Mapping[str, Timeline], layer: LayerResult) -> dict[str, Any]:
    resolution = (layer.cycles_end - layer.cycles_start) / PIXELS
    units = {}
    for unit in sorted(activity.records):
        pieces = _pieces(activity.records[unit], states[unit], activity.total_ps, layer.name)
        stretches = _merged(_cut(pieces, activity.clock_hz, layer), resolution)
        if stretches:
            units[unit] = [list(stretch) for stretch in stretches]
    start, end = layer.cycles_start, layer.cycles_end
    return {"layer": layer.name, "cycles_start": start, "cycles_end": end, "units": units}


def _cut(pieces: Iterator[Stretch], clock_hz: int, layer: LayerResult) -> Iterator[Stretch]:
    """Pieces in picoseconds as cycles inside the layer's span."""
    for start_ps, end_ps, cause, state in pieces:
        start = max(to_cycles(start_ps, clock_hz), layer.cycles_start)
        end = min(to_cycles(end_ps, clock_hz), layer.cycles_end)
        if end > start:
            yield start, end, cause, state


def _pieces(records: Sequence[Record], states: Timeline, total_ps: int, layer: str) -> Iterator[Stretch]:
    """Work from the records; between them what the timeline says the unit waits for."""
    segments = states.segments(total_ps)
    segment = next(segments, None)
    now = 0
    for record in records:
        while segment is not None and segment[0] < record.start_ps:
            start, end, waiting = segment
            if min(end, record.start_ps) > max(start, now):
                yield max(start, now), min(end, record.start_ps), waiting.cause, "wait"
            if end > record.start_ps:
                break
            segment = next(segments, None)
        for start, end, phase in phases(record):
            yield start, end, _worked(phase), "work" if record.layer == layer else "other"
        now = record.end_ps


def _worked(phase: str) -> str:
    return MOVE_STALLS.get(phase, phase or "busy")


def _merged(stretches: Iterator[Stretch], resolution: float) -> list[Stretch]:
    """Join neighbours of one cause and state; what is shorter than ``resolution`` joins what precedes it."""
    done: list[Stretch] = []
    for start, end, cause, state in stretches:
        if done and start - done[-1][1] < resolution:
            first, last, before, how = done[-1]
            if (before, how) == (cause, state) or end - start < resolution:
                done[-1] = (first, max(last, end), before, how)
                continue
        done.append((start, end, cause, state))
    return done
