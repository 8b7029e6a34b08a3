"""Which cores of many a layer's timeline shows: of those that work on it the busiest, one in the middle, the idlest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from archsim.ir.rows import Record
from archsim.report.details import ShownCores
from archsim.spec.network import queue_core

ALL = 8  # cores that are all shown
MOVERS = ("load", "store")  # engines that move; the others compute

Records = Mapping[str, Sequence[Record]]


def shown_cores(records: Records, layer: str, low_ps: int, high_ps: int) -> ShownCores | None:
    """``{of, working, busiest, middle, idlest}``: how many cores there are and work on ``layer``, and numbers of three.

    By the time in which their computing engines run its commands in [low, high), of equals by number; by all engines
    where none computes. None where all cores are shown, without the three where none works.
    """
    cores = {core for core in map(queue_core, records) if core is not None}
    if len(cores) <= ALL:
        return None
    work = _work(records, layer, low_ps, high_ps, movers=False) or _work(records, layer, low_ps, high_ps, movers=True)
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


def _work(records: Records, layer: str, low_ps: int, high_ps: int, *, movers: bool) -> dict[int, int]:
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


def _within(records: Sequence[Record], layer: str, low_ps: int, high_ps: int) -> int:
    total = 0
    for record in records[bisect_right(records, low_ps, key=lambda record: record.end_ps) :]:
        if record.start_ps >= high_ps:
            break
        if record.layer == layer:
            total += min(record.end_ps, high_ps) - max(record.start_ps, low_ps)
    return total
