"""What figures of DRAM are made of: bytes on the pins and bytes asked for, of each part, and its row hits.

``read_bytes`` and ``write_bytes`` are bytes on the pins (whole bursts), ``useful_bytes`` those that were asked for.
``bandwidth_utilization`` of several parts is that of the busiest one (``ir.figure_table``): idle bandwidth of one part
is of no use to data that lie in another.
"""

from __future__ import annotations

from collections.abc import Sequence

from archsim.base.errors import SimulationError
from archsim.ir.activity import Activity
from archsim.ir.result import LayerResult
from archsim.ir.result_parts import MemoryFigures, RoleFigures


def dram_parts(activity: Activity, layers: Sequence[LayerResult], latency_s: float) -> dict[str, MemoryFigures]:
    """Each DRAM part over a run. Raises SimulationError where the layers' bytes are not those on the pins."""
    memories = {
        name: memory_figures(
            stats.read_bytes,
            stats.write_bytes,
            stats.useful_read_bytes + stats.useful_write_bytes,
            stats.peak_bytes_per_s * latency_s,
        )
        for name, stats in activity.dram.items()
    }
    rows = memories.values()
    _check_conserved(layers, sum(row["read_bytes"] for row in rows), sum(row["write_bytes"] for row in rows))
    return memories


def dram_roles(activity: Activity) -> dict[str, RoleFigures]:
    """What moves of each role did in all DRAM parts together, by role.

    Raises SimulationError where the roles' bytes are not those that commands asked for.
    """
    found = {
        role: RoleFigures(
            read_bytes=_of_role(activity, role, "pin_read_bytes"),
            write_bytes=_of_role(activity, role, "pin_write_bytes"),
            useful_read_bytes=_of_role(activity, role, "read_bytes"),
            useful_write_bytes=_of_role(activity, role, "write_bytes"),
        )
        for role in sorted({role for _, role, _, _ in activity.roles})
    }
    asked = (
        sum(row["useful_read_bytes"] for row in found.values()),
        sum(row["useful_write_bytes"] for row in found.values()),
    )
    parts = activity.dram.values()
    moved = sum(stats.useful_read_bytes for stats in parts), sum(stats.useful_write_bytes for stats in parts)
    if found and asked != moved:
        raise SimulationError(f"DRAM bytes are not conserved: roles asked for {asked}, the parts moved {moved}")
    return found


def _of_role(activity: Activity, role: str, action: str) -> int:
    return sum(amount for (_, named, _, did), amount in activity.roles.items() if (named, did) == (role, action))


def row_hit_rate(activity: Activity) -> float | None:
    """The share of bursts that found their row open; None without bursts, or without rows."""
    stats = activity.dram.values()
    hits = sum(s.row_hits for s in stats)
    rows = hits + sum(s.row_misses + s.row_conflicts for s in stats)
    return hits / rows if rows else None


def memory_figures(read: int, written: int, useful: int, possible: float) -> MemoryFigures:
    """A row of ``dram.memories``; ``possible``: bytes that the pins could have moved in the run, 0 without a limit."""
    return {
        "read_bytes": read,
        "write_bytes": written,
        "useful_bytes": useful,
        "bandwidth_utilization": (read + written) / possible if possible else 0.0,
    }


def _check_conserved(layers: Sequence[LayerResult], read: int, written: int) -> None:
    by_layer = sum(row.dram_read_bytes for row in layers), sum(row.dram_write_bytes for row in layers)
    if by_layer != (read, written):
        raise SimulationError(
            f"DRAM bytes are not conserved: layers read and wrote {by_layer}, the pins moved {(read, written)}"
        )
