"""What each DRAM part did over time: totals, and what moved in equal windows of the run.

A transfer's bytes and bursts are spread evenly over its time on the pins, in whole numbers, so windows sum to the
totals exactly. Between two transfers that share the pins it is not known whose beat came when: what a window would so
hold beyond the peak is moved to its neighbours, the later ones first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any

from archsim.energy.account import HOST
from archsim.ir.activity import Activity, Bandwidth, DramStats

WINDOWS = 200
PS_PER_S = 10**12
_ROWS = ("row_hits", "row_misses", "row_conflicts")


def dram_parts(activity: Activity) -> dict[str, dict[str, Any]]:
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


def edge(index: int, total_ps: int, windows: int) -> int:
    """Where window ``index`` of ``windows`` begins: equal to within a picosecond."""
    return index * total_ps // windows


def spread(amounts: Iterable[tuple[int, int, int]], total_ps: int, windows: int) -> list[int]:
    """What falls into each of ``windows`` equal windows of [0, total_ps): each (start_ps, end_ps, amount) evenly, in
    whole numbers that sum to it."""
    bins = [0] * windows
    for start, end, amount in amounts:
        done = 0
        for index in range(_window(start, total_ps, windows), _window(end - 1, total_ps, windows)):
            upto = amount * (edge(index + 1, total_ps, windows) - start) // (end - start)
            bins[index] += upto - done
            done = upto
        bins[_window(max(start, end - 1), total_ps, windows)] += amount - done
    return bins


def hit_rate(hits: int, misses: int, conflicts: int) -> float | None:
    """Share of accesses that found their row open, None without accesses."""
    bursts = hits + misses + conflicts
    return hits / bursts if bursts else None


def by_window(streams: Sequence[Bandwidth], name: str, total_ps: int, windows: int) -> list[int]:
    """The field ``name`` of ``streams`` spread over the windows."""
    return spread(((s.start_ps, s.end_ps, getattr(s, name)) for s in streams), total_ps, windows)


def _window(time_ps: int, total_ps: int, windows: int) -> int:
    """The window that holds ``time_ps``: the last one whose edge is not after it."""
    return min(max(-(-(time_ps + 1) * windows // total_ps) - 1, 0), windows - 1)


def _part(name: str, stats: DramStats, activity: Activity) -> dict[str, Any]:
    streams = [stream for stream in activity.bandwidth if stream.memory == name]
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


def _windows(streams: Sequence[Bandwidth], total_ps: int, peak_bytes_per_s: float) -> dict[str, Any]:
    count = min(WINDOWS, total_ps)
    rows = {name: by_window(streams, name, total_ps, count) for name in _ROWS}
    read = by_window([s for s in streams if not s.write], "pin_bytes", total_ps, count)
    written = by_window([s for s in streams if s.write], "pin_bytes", total_ps, count)
    levelled(read, written, ceil(peak_bytes_per_s * total_ps / count / PS_PER_S))
    return {
        "seconds": total_ps / count / PS_PER_S,
        "read_bytes": read,
        "write_bytes": written,
        **rows,
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
