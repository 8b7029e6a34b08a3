"""The rows of what the machine did: one record per command, one row per stream of bytes on a memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(slots=True)  # frozen ones take three times as long to make
class Record:
    """One executed command; nobody may change it.

    ``head_ps``: reached the head of its queue with its engine free; ``start_ps``: waits met; ``end_ps``: signalled.
    ``critical``: (unit, index) of the command whose signal met its last wait, None when no wait held it back.
    ``phases``: (cause, until_ps) in order, tiling [start, end): dram | noc | sram_port for moves;
    weight_load | fill_drain | busy | sram_port for arrays; busy | sram_port for vector units; launch for host and
    setup.
    ``macs``: MACs that an array or a vector command did; ``slots_per_cycle``: of an array command, MACs per array
    cycle at the dtypes used.
    """

    unit: str
    index: int
    name: str
    op: str
    layer: str
    role: str
    head_ps: int
    start_ps: int
    end_ps: int
    critical: tuple[str, int] | None
    phases: tuple[tuple[str, int], ...]
    macs: int = 0
    slots_per_cycle: int = 0


class Bandwidth(NamedTuple):
    """Bytes moved on a memory over [start_ps, end_ps) by one stream, for plots and traces.

    Of a DRAM part: one transfer, from the start of its first beat to its last. ``pin_bytes``: what went over the pins
    for its ``size_bytes``; its bursts were row hits, misses or conflicts (none where the model has no rows) and opened
    ``activates`` rows. All 0 of on-chip memories.
    """

    memory: str
    start_ps: int
    end_ps: int
    size_bytes: int
    write: bool
    pin_bytes: int = 0
    row_hits: int = 0
    row_misses: int = 0
    row_conflicts: int = 0
    activates: int = 0
