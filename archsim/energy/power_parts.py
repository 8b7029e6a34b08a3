"""Energy by part in equal windows of the run, placed as ``power`` places it; everything sums to the total exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from archsim.energy.account import HOST, Energy
from archsim.energy.exact import joules
from archsim.energy.power import busy_ps, drivers, pieces
from archsim.energy.tables import Tables
from archsim.ir.activity import Activity

WINDOWS = 240  # as many as a chart shows


PartWindows = tuple[tuple[str, tuple[float, ...]], ...]


def by_part(activity: Activity, energy: Energy, tables: Tables) -> PartWindows:
    """Part -> joules in each window; parts that spend nothing are left out.

    All windows of all parts sum to the energy of the run, bit for bit and in any order.
    """
    total_ps = activity.total_ps
    if not total_ps or not energy.total_zj:
        return ()
    count = min(WINDOWS, total_ps)
    edges = [index * total_ps // count for index in range(count + 1)]
    dynamic = _dynamic_zj(activity, energy, tables, edges)
    placed: dict[tuple[str, int], int] = {}
    for part, nanowatts in energy.leakage_nw.items():
        for index, (start, end) in enumerate(zip(edges, edges[1:], strict=False)):
            placed[part, index] = dynamic[part][index] + nanowatts * (end - start)
    exact = joules(energy.total_zj, placed)
    parts = [(part, tuple(exact[part, index] for index in range(count))) for part in energy.leakage_nw]
    return tuple((part, spent) for part, spent in parts if any(spent))


def _dynamic_zj(activity: Activity, energy: Energy, tables: Tables, edges: list[int]) -> dict[str, list[int]]:
    """Part -> zJ in each window; each part's sum is exact, its rounding goes to its largest window."""
    names = [*energy.leakage_nw]
    rates, spent = _rates(activity, energy, tables, names)
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


def _rates(
    activity: Activity, energy: Energy, tables: Tables, names: list[str]
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
