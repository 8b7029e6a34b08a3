"""What each DRAM part did over time: totals, and what moved in equal windows of the run.

A transfer's bytes and bursts are spread evenly over its time on the pins, in whole numbers, so windows sum to the
totals exactly. Between two transfers that share the pins it is not known whose beat came when: what a window would so
hold beyond the peak is moved to its neighbours, the later ones first.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from archsim.base.units import PS_PER_S
from archsim.energy.account import HOST
from archsim.ir.activity import Activity, DramStats
from archsim.ir.bandwidth import BandwidthStreams
from archsim.report.run.details import DramPart, DramWindows

WINDOWS = 200
_ROWS = ("row_hits", "row_misses", "row_conflicts")
_MOST = np.iinfo(np.int64).max // 2


def dram_parts(activity: Activity) -> dict[str, DramPart]:
    """DRAM part -> its totals and ``windows``: their length in seconds, and a list for bytes on the pins in each
    direction, row hits, misses, conflicts, and the hit rate (None where nothing moved or there are no rows).

    ``windows`` is None where the activity holds no transfers of the part.
    """
    return {name: _part(name, stats, activity) for name, stats in activity.dram.items()}


def row_hit_rates(activity: Activity) -> dict[str, float]:
    """Row of ``layers`` -> share of its bursts that found their row open; those without bursts are absent."""
    found: dict[str, list[int]] = {}
    for (layer, part, action), amount in activity.counts.items():
        if part in activity.dram and action in _ROWS:
            rows = found.setdefault(layer or HOST, [0, 0])
            rows[0] += amount if action == "row_hits" else 0
            rows[1] += amount
    return {layer: hits / bursts for layer, (hits, bursts) in found.items()}


def edge(index: Any, total_ps: int, windows: int) -> Any:
    """Where window ``index`` of ``windows`` begins: equal to within a picosecond."""
    return index * total_ps // windows


def spread(start_ps: IntArray, end_ps: IntArray, amounts: IntArray, total_ps: int, windows: int) -> list[int]:
    """What falls into each of ``windows`` equal windows of [0, total_ps): each amount evenly over its time, in whole
    numbers that sum to it.

    Shapes (streams,). Where products are beyond 64 bits, Python's integers take their place.
    """
    most = max(int(amounts.max(initial=0)), windows) * max(int(end_ps.max(initial=0)), total_ps)
    start, end, amount = (
        values.astype(np.int64 if most <= _MOST else object) for values in (start_ps, end_ps, amounts)
    )
    first, last = (_window(time, total_ps, windows) for time in (start, np.maximum(start, end - 1)))
    bins = np.zeros(windows, dtype=amount.dtype)
    np.add.at(bins, last, amount)
    crossed = last - first
    at = np.repeat(np.arange(len(start)), crossed)
    index = np.arange(len(at)) - (np.cumsum(crossed) - crossed - first)[at]
    upto = amount[at] * (edge(index.astype(bins.dtype) + 1, total_ps, windows) - start[at]) // (end - start)[at]
    np.add.at(bins, index, upto)
    np.subtract.at(bins, index + 1, upto)
    found: list[int] = bins.tolist()
    return found


def hit_rate(hits: int, misses: int, conflicts: int) -> float | None:
    """Share of accesses that found their row open, None without accesses."""
    bursts = hits + misses + conflicts
    return hits / bursts if bursts else None


def by_window(streams: BandwidthStreams, name: str, total_ps: int, windows: int) -> list[int]:
    """The field ``name`` of ``streams`` spread over the windows."""
    return spread(streams.start_ps, streams.end_ps, streams.column(name), total_ps, windows)


def _window(time_ps: NDArray[Any], total_ps: int, windows: int) -> IntArray:
    """The windows that hold each ``time_ps``: the last ones whose edge is not after it."""
    found: IntArray = np.clip(-(-(time_ps + 1) * windows // total_ps) - 1, 0, windows - 1).astype(np.int64)
    return found


def _part(name: str, stats: DramStats, activity: Activity) -> DramPart:
    streams = activity.bandwidth.transfers(name)
    return {
        "read_bytes": stats.read_bytes,
        "write_bytes": stats.write_bytes,
        "row_hits": stats.row_hits,
        "row_misses": stats.row_misses,
        "row_conflicts": stats.row_conflicts,
        "activates": stats.activates,
        "refreshes": stats.refreshes,
        "peak_bytes_per_s": stats.peak_bytes_per_s,
        "windows": _windows(streams, activity.total_ps, stats.peak_bytes_per_s) if streams else None,
    }


def _windows(streams: BandwidthStreams, total_ps: int, peak_bytes_per_s: float) -> DramWindows:
    count = min(WINDOWS, total_ps)
    rows = {name: by_window(streams, name, total_ps, count) for name in _ROWS}
    read = by_window(streams.pick(~streams.write), "pin_bytes", total_ps, count)
    written = by_window(streams.pick(streams.write), "pin_bytes", total_ps, count)
    levelled(read, written, ceil(peak_bytes_per_s * total_ps / count / PS_PER_S))
    return {
        "seconds": total_ps / count / PS_PER_S,
        "read_bytes": read,
        "write_bytes": written,
        "row_hits": rows["row_hits"],
        "row_misses": rows["row_misses"],
        "row_conflicts": rows["row_conflicts"],
        "row_hit_rate": [hit_rate(*at) for at in zip(*rows.values(), strict=True)],
    }


def levelled(read: list[int], written: list[int], most: int) -> None:
    """Move what windows hold together beyond ``most`` to the next ones, then what is left to those before."""
    last = len(read) - 1
    for index in range(last):
        _move(read, written, index, index + 1, most)
    for index in range(last, 0, -1):
        _move(read, written, index, index - 1, most)


def _move(read: list[int], written: list[int], source: int, target: int, most: int) -> None:
    over = read[source] + written[source] - most
    if over > 0:
        reads = over * read[source] // (read[source] + written[source])
        for series, size in ((read, reads), (written, over - reads)):
            series[source] -= size
            series[target] += size
