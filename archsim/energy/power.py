"""Power over time: averages over windows of max(1 us, latency / 1000).

When an action happened inside its layer is not recorded, so a layer's energy on a part is spread over the
layer's commands that can have caused it, evenly over their time: DRAM, DMA and network over loads and stores, array,
vector unit and host over their own commands, on-chip memories over all but the host's. Leakage is constant.
Windows tile [0, latency); a last one shorter than the others is part of the one before, so no window is
shorter than stated (unless the run is), their mean is the average power and the peak is at least that. What is drawn
more while a kernel is on the chip is drawn from its first command to the end.

Charts ask for equal windows of the run instead: the energy of each part is placed in them in the same way, in whole
zeptojoules, so that the windows sum to the total exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archsim.energy.account import HOST, Energy
from archsim.energy.chip_tables import NW_PER_W, ZJ_PER_J, ChipTables
from archsim.energy.exact_sums import joules
from archsim.ir.activity import Activity
from archsim.ir.records import Records

LEAST_WINDOW_PS = 10**6
WINDOWS = 1000
_PS = 10**12
_MOVES = ("MOVE", "GATHER", "SCATTER")
_DRIVERS: Mapping[str, tuple[str, ...]] = {
    "dram": _MOVES,
    "dma": _MOVES,
    "noc": _MOVES,
    "cache": ("GATHER", "SCATTER"),
    "array": ("MATMUL",),
    "vector": ("VECTOR",),
    "host": ("HOST",),
}
_ANY = (*_MOVES, "MATMUL", "VECTOR")
_ALL = (*_ANY, "HOST", "SETUP", "SYNC")


@dataclass(frozen=True, slots=True)
class PowerProfile:
    """Watts: over the run, in the worst window, and (start of window in s, watts) for each window."""

    avg_w: float
    peak_w: float
    window_s: float
    trace: tuple[tuple[float, float], ...]


def power(activity: Activity, energy: Energy, tables: ChipTables) -> PowerProfile:
    """Power of a run over time; all scopes together."""
    total_ps = activity.total_ps
    window_s = max(LEAST_WINDOW_PS, total_ps / WINDOWS) / _PS
    if not total_ps:
        return PowerProfile(0.0, 0.0, window_s, ())
    edges = _edges(total_ps)
    spent_j = np.zeros(len(edges) - 1)
    rates, unplaced_j = _rates(activity, energy, tables)
    for records in activity.records.values():
        _place(records, rates, edges, spent_j)
    constant_w = sum(energy.leakage_nw.values()) / NW_PER_W + unplaced_j / (total_ps / _PS)
    waiting_w, begin = sum(energy.waiting_nw.values()) / NW_PER_W, total_ps - energy.kernel_ps
    windows = zip(spent_j.tolist(), edges, edges[1:], strict=False)
    levels = [
        joules / ((end - start) / _PS) + constant_w + waiting_w * max(0, end - max(start, begin)) / (end - start)
        for joules, start, end in windows
    ]
    avg_w = energy.total_j / (total_ps / _PS)
    trace = tuple((start / _PS, value) for start, value in zip(edges, levels, strict=False))
    return PowerProfile(avg_w, max(avg_w, *levels), window_s, trace)


def _edges(total_ps: int) -> list[int]:
    """Boundaries of the windows, 0 and ``total_ps`` included."""
    if total_ps >= LEAST_WINDOW_PS * WINDOWS:
        return [index * total_ps // WINDOWS for index in range(WINDOWS + 1)]
    count = max(1, total_ps // LEAST_WINDOW_PS)
    return [*(index * LEAST_WINDOW_PS for index in range(count)), total_ps]


def _rates(activity: Activity, energy: Energy, tables: ChipTables) -> tuple[dict[tuple[str, str], float], float]:
    """(layer, op) -> watts while such a command runs; and the joules of layers without any command."""
    busy = busy_ps(activity)
    sums: dict[tuple[str, tuple[str, ...]], int] = {}
    for (layer, part, _), energy_zj in energy.dynamic_zj.items():
        key = (layer, drivers(layer, tables.parts[part].kind, busy))
        sums[key] = sums.get(key, 0) + energy_zj
    watts: dict[tuple[str, str], float] = {}
    unplaced_zj = 0
    for (layer, ops), energy_zj in sums.items():
        time_ps = sum(busy.get((layer, op), 0) for op in ops)
        if not time_ps:
            unplaced_zj += energy_zj
            continue
        for op in ops:
            watts[layer, op] = watts.get((layer, op), 0.0) + energy_zj / ZJ_PER_J / (time_ps / _PS)
    return watts, unplaced_zj / ZJ_PER_J


def drivers(layer: str, kind: str, busy: Mapping[tuple[str, str], int]) -> tuple[str, ...]:
    """Commands of a layer that can have caused the actions of a part of a kind; any where it has none of these."""
    ops = _DRIVERS.get(kind, _ANY)
    return ops if any((layer, op) in busy for op in ops) else _ALL


def busy_ps(activity: Activity) -> dict[tuple[str, str], int]:
    """(layer, op) -> picoseconds for which such commands ran, over all units."""
    busy: dict[tuple[str, str], int] = {}
    for records in activity.records.values():
        columns = records.columns()
        of_text = np.zeros(len(records.texts), dtype=np.int64)
        np.add.at(of_text, columns.text, columns.end_ps - columns.start_ps)
        for text, time_ps in zip(records.texts, of_text.tolist(), strict=True):
            if time_ps:
                key = text.layer or HOST, text.op
                busy[key] = busy.get(key, 0) + time_ps
    return busy


def _place(
    records: Records, rates: Mapping[tuple[str, str], float], edges: Sequence[int], spent_j: NDArray[np.float64]
) -> None:
    """Add what the commands of a unit spend to the windows, command by command, each evenly over its time."""
    columns = records.columns()
    rate = [rates.get((text.layer or HOST, text.op), 0.0) for text in records.texts]
    watts = np.array(rate)[columns.text]
    some = (watts > 0) & (columns.end_ps > columns.start_ps)
    command, window, taken_ps = pieces(columns.start_ps[some], columns.end_ps[some], edges)
    np.add.at(spent_j, window, watts[some][command] * (taken_ps / _PS))


def pieces(
    start_ps: NDArray[np.int64], end_ps: NDArray[np.int64], edges: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Commands, none of which takes no time, cut at the ``edges``: of each piece its command, window, picoseconds."""
    bounds = np.array(edges)
    first = np.searchsorted(bounds, start_ps, side="right") - 1
    counts = np.searchsorted(bounds, end_ps, side="left") - first
    command = np.repeat(np.arange(len(counts)), counts)
    window = np.arange(len(command)) - (np.cumsum(counts) - counts - first)[command]
    taken_ps = np.minimum(end_ps[command], bounds[window + 1]) - np.maximum(start_ps[command], bounds[window])
    return command, window, taken_ps


PART_WINDOWS = 240  # as many as a chart shows


PartWindows = tuple[tuple[str, tuple[float, ...]], ...]


def by_part(activity: Activity, energy: Energy, tables: ChipTables) -> PartWindows:
    """Part -> joules in each window; parts that spend nothing are left out.

    All windows of all parts sum to the energy of the run, bit for bit and in any order.
    """
    total_ps = activity.total_ps
    if not total_ps or not energy.total_zj:
        return ()
    count = min(PART_WINDOWS, total_ps)
    edges = [index * total_ps // count for index in range(count + 1)]
    dynamic = _dynamic_zj(activity, energy, tables, edges)
    placed: dict[tuple[str, int], int] = {}
    begin = total_ps - energy.kernel_ps
    for part, nanowatts in energy.leakage_nw.items():
        for index, (start, end) in enumerate(zip(edges, edges[1:], strict=False)):
            waiting = energy.waiting_nw[part] * max(0, end - max(start, begin))
            placed[part, index] = dynamic[part][index] + nanowatts * (end - start) + waiting
    exact = joules(energy.total_zj, placed)
    parts = [(part, tuple(exact[part, index] for index in range(count))) for part in energy.leakage_nw]
    return tuple((part, spent) for part, spent in parts if any(spent))


def _dynamic_zj(activity: Activity, energy: Energy, tables: ChipTables, edges: list[int]) -> dict[str, list[int]]:
    """Part -> zJ in each window; each part's sum is exact, its rounding goes to its largest window."""
    names = [*energy.leakage_nw]
    rates, spent = _part_rates(activity, energy, tables, names)
    widths = np.diff(np.array(edges, dtype=np.float64))
    found = np.outer(spent, widths / edges[-1])  # of layers without any command
    for records in activity.records.values():
        columns = records.columns()
        some = columns.end_ps > columns.start_ps
        command, window, taken_ps = pieces(columns.start_ps[some], columns.end_ps[some], edges)
        own = np.array([rates.get((text.layer or HOST, text.op), np.zeros(len(names))) for text in records.texts])
        text = columns.text[some][command]
        for at in np.flatnonzero(own.any(axis=0)) if len(own) else ():
            found[at] += np.bincount(window, weights=own[text, at] * taken_ps, minlength=len(widths))
    return {name: _whole(row, _total_zj(energy, name)) for name, row in zip(names, found, strict=True)}


def _part_rates(
    activity: Activity, energy: Energy, tables: ChipTables, names: list[str]
) -> tuple[dict[tuple[str, str], NDArray[np.float64]], NDArray[np.float64]]:
    """(layer, op) -> zJ per picosecond of each part while such a command runs; zJ of layers without any command."""
    busy = busy_ps(activity)
    rates: dict[tuple[str, str], NDArray[np.float64]] = {}
    unplaced = np.zeros(len(names))
    for (layer, part, _), energy_zj in energy.dynamic_zj.items():
        ops = drivers(layer, tables.parts[part].kind, busy)
        time_ps = sum(busy.get((layer, op), 0) for op in ops)
        at = names.index(part)
        if not time_ps:
            unplaced[at] += energy_zj
        for op in ops if time_ps else ():
            rates.setdefault((layer, op), np.zeros(len(names)))[at] += energy_zj / time_ps
    return rates, unplaced


def _total_zj(energy: Energy, name: str) -> int:
    return sum(energy_zj for (_, part, _), energy_zj in energy.dynamic_zj.items() if part == name)


def _whole(row: NDArray[np.float64], total_zj: int) -> list[int]:
    found = [round(value) for value in row.tolist()]
    found[int(row.argmax())] += total_zj - sum(found)
    return found
