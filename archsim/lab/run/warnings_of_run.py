"""Figures of a run that nobody should pass over: bytes fetched that nobody asked for, time that no bound foresaw.

A layer is named where it fetches, or takes, more than FAR times as much; a warning is given where what those layers
have too much of is a noticeable share of the run's time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archsim.ir.activity import Activity, CountKey, DramStats
from archsim.ir.result import LayerResult
from archsim.report.kit.causes import bound_label
from archsim.report.kit.number_format import count, number, percent, shorten, si

FAR = 2  # times
FETCHED_SHARE, TIME_SHARE = 0.01, 0.1  # of the run's time
MOST = 3  # layers that a warning names
_PS = 10**12
_PINS = ("pin_read_bytes", "pin_write_bytes")
_ASKED = ("read_bytes", "write_bytes")


def figures(
    activity: Activity, layers: Sequence[LayerResult], predicted: Mapping[str, Mapping[str, Any]], cycles_total: int
) -> list[str]:
    """All warnings; ``predicted``: layer -> ``bound_cycles`` of its mapping."""
    return [*_fetched(activity), *_beyond_bounds(layers, predicted, cycles_total)]


def _fetched(activity: Activity) -> Iterator[str]:
    """Of each DRAM: layers for which far more goes over the pins than they ask for."""
    for name, stats in activity.dram.items():
        pins, asked = (_by_layer(activity.counts, name, actions) for actions in (_PINS, _ASKED))
        excess = {layer: size - asked.get(layer, 0) for layer, size in pins.items() if size > FAR * asked.get(layer, 0)}
        if not _noticeable(sum(excess.values()), stats, activity.total_ps):
            continue
        worst = sorted(excess, key=lambda layer: (-excess[layer], layer))[:MOST]
        said = ", ".join(
            f"{shorten(layer, 30)} {si(pins[layer], 'B', 3)} for {si(asked.get(layer, 0), 'B', 3)}" for layer in worst
        )
        yield (
            f"{name} fetched far more than was asked for: {said}; pieces shorter than a burst pay for whole bursts, "
            f"{percent(sum(excess.values()), sum(pins.values()))} of the bytes on the pins are for nothing"
        )


def _by_layer(counts: Mapping[CountKey, int], memory: str, actions: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for (layer, part, action), size in counts.items():
        if part == memory and action in actions:
            found[layer] = found.get(layer, 0) + size
    return found


def _noticeable(size_bytes: int, stats: DramStats, total_ps: int) -> bool:
    """Whether moving so much takes a noticeable share of the run (any, of a memory without a rate)."""
    return size_bytes * _PS > FETCHED_SHARE * stats.peak_bytes_per_s * total_ps


def _beyond_bounds(
    layers: Sequence[LayerResult], predicted: Mapping[str, Mapping[str, Any]], cycles_total: int
) -> Iterator[str]:
    """Layers whose share of the critical path is far above the bound of their mapping."""
    bounds = {name: row["bound_cycles"] for name, row in predicted.items() if row["bound_cycles"]}
    late = [row for row in layers if row.cycles_critical > FAR * bounds.get(row.name, row.cycles_critical)]
    excess = sum(row.cycles_critical - bounds[row.name] for row in late)
    if not excess or excess < TIME_SHARE * cycles_total:
        return
    worst = sorted(late, key=lambda row: (bounds[row.name] - row.cycles_critical, row.name))[:MOST]
    said = ", ".join(_late(row, bounds[row.name]) for row in worst)
    more = f" and {len(late) - len(worst)} more" if len(late) > len(worst) else ""
    yield (
        f"simulated time is far above the mappings' bounds, {percent(excess, cycles_total)} of the run: {said}{more}; "
        "--refine 8 lets the simulator choose their mappings"
    )


def _late(row: LayerResult, bound: int) -> str:
    times = number(row.cycles_critical / bound, 2)
    name, cycles = shorten(row.name, 30), count(row.cycles_critical)
    return f"{name} {cycles} cycles, {times} times, bound by {bound_label(row.bound_by)}"
