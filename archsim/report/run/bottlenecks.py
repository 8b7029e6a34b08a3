"""What bounds a run, ranked: causes on the critical path with the layers they are in, and what-ifs by gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.ir.causes import CAUSES
from archsim.report.kit.causes import bound_label, cause, mended_by
from archsim.report.kit.number_format import NONE, count, percent, shorten

LAYERS = 3
Row = dict[str, Any]


def ranked(summary: Mapping[str, Any]) -> list[Row]:
    """A row for each cause on the critical path, the longest first; [] where the summary does not have the path.

    Without arbitration a run gains at most a cause's cycles where the cause is taken away.
    """
    places: dict[str, list[tuple[int, str]]] = {}
    for layer, causes in summary["details"].get("critical", {}).items():
        for key, cycles in causes.items():
            places.setdefault(key, []).append((cycles, layer))
    totals = {key: sum(cycles for cycles, _ in found) for key, found in places.items()}
    order = sorted(totals, key=lambda key: (-totals[key], key))
    return [_row(rank, key, totals[key], places[key], summary["cycles_total"]) for rank, key in enumerate(order, 1)]


def _row(rank: int, key: str, cycles: int, places: list[tuple[int, str]], total: int) -> Row:
    most = sorted(places, key=lambda place: (-place[0], place[1]))[:LAYERS]
    return {
        "rank": str(rank),
        "name": bound_label(key),
        "tip": _tip(key),
        "colour": cause(key).colour,
        "cycles": count(cycles),
        "share": percent(cycles, total),
        "layers": ", ".join(f"{shorten(layer, 30)} {count(size)}" for size, layer in most if size),
    }


def _tip(key: str) -> str:
    """What a cause on the critical path means, and which parts of the chip can mend it."""
    said = CAUSES.meaning(key) if CAUSES.get(key) else ""
    parts = mended_by(key)
    return f"{said}; keys of {parts} can mend it" if parts else said


def by_gain(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Re-simulated changes of the chip, the largest gain first; those that could not be simulated last."""
    known = [row for row in rows if row["gain_cycles"] is not None]
    failed = [row for row in rows if row["gain_cycles"] is None]
    return [*sorted(known, key=lambda row: (-row["gain_cycles"], row["name"])), *failed]


def gain_per_mm2(row: Mapping[str, Any]) -> str:
    """Percent of the run's time gained for each mm2 that a change costs; a dash where it costs or gains none."""
    if row["gain_percent"] is None or not row["area_mm2"] or row["area_mm2"] <= 0 or row["gain_percent"] <= 0:
        return NONE
    return f"{row['gain_percent'] / row['area_mm2']:.3g}"
