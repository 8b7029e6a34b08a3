"""What a run reports of its DRAM: bytes on the pins and bytes asked for, of each memory and of all, and the busiest.

``read_bytes`` and ``write_bytes`` are bytes on the pins (whole bursts), ``useful_bytes`` those that were asked for.
``bandwidth_utilization`` of several memories is that of the busiest one: idle bandwidth of one memory is of no use to
data that lie in another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archsim.base.errors import SimulationError
from archsim.ir.activity import Activity
from archsim.ir.figures import DramFigures, MemoryFigures
from archsim.ir.result import LayerResult


def dram_figures(activity: Activity, layers: Sequence[LayerResult], latency_s: float) -> DramFigures:
    """``dram`` of the result. Raises SimulationError where the layers' bytes are not those on the pins."""
    memories = {
        name: memory_figures(
            stats.read_bytes,
            stats.write_bytes,
            stats.useful_read_bytes + stats.useful_write_bytes,
            stats.peak_bytes_per_s * latency_s,
        )
        for name, stats in activity.dram.items()
    }
    stats = activity.dram.values()
    hits = sum(s.row_hits for s in stats)
    rows = hits + sum(s.row_misses + s.row_conflicts for s in stats)
    found = together(memories, hits / rows if rows else None, sum(s.peak_bytes_per_s for s in stats))
    _check_conserved(layers, found["read_bytes"], found["write_bytes"])
    return found


def memory_figures(read: int, written: int, useful: int, possible: float) -> MemoryFigures:
    """A row of ``dram.memories``; ``possible``: bytes that the pins could have moved in the run, 0 without a limit."""
    return {
        "read_bytes": read,
        "write_bytes": written,
        "useful_bytes": useful,
        "bandwidth_utilization": (read + written) / possible if possible else 0.0,
    }


def together(memories: Mapping[str, MemoryFigures], row_hit_rate: float | None, peak_bytes_per_s: int) -> DramFigures:
    """``dram`` of its memories: bytes add up, the share is the busiest one's."""
    rows = memories.values()
    return {
        "read_bytes": sum(row["read_bytes"] for row in rows),
        "write_bytes": sum(row["write_bytes"] for row in rows),
        "useful_bytes": sum(row["useful_bytes"] for row in rows),
        "row_hit_rate": row_hit_rate,
        "bandwidth_utilization": max((row["bandwidth_utilization"] for row in rows), default=0.0),
        "peak_bytes_per_s": peak_bytes_per_s,
        "memories": dict(memories),
    }


def _check_conserved(layers: Sequence[LayerResult], read: int, written: int) -> None:
    by_layer = sum(row.dram_read_bytes for row in layers), sum(row.dram_write_bytes for row in layers)
    if by_layer != (read, written):
        raise SimulationError(
            f"DRAM bytes are not conserved: layers read and wrote {by_layer}, the pins moved {(read, written)}"
        )
