"""Streams on on-chip memories as plans have them: who asks for them gets rows, nothing but the plans is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archsim.base.arrays import IntArray
from archsim.sim.compiled import layout as k
from archsim.sim.record_pages import QueueColumns


@dataclass(frozen=True, slots=True, eq=False)
class PlannedStreams:
    """``queues``: with the number of its core, what each has run. ``demands``: plan, memory, whether it is written,
    bytes; in the order of plans, shape (demands, 4). ``shared`` and ``own``: what memories are called by number.
    """

    queues: Sequence[tuple[int, QueueColumns]]
    demands: IntArray
    shared: Sequence[str]
    own: Sequence[str]

    def tables(self) -> dict[str, IntArray]:
        """Memory -> start, end, bytes, whether it is written; shape (streams, 4)."""
        found = [self._of_queue(core, columns) for core, columns in self.queues]
        rows = np.concatenate([np.zeros((0, 5), dtype=np.int64), *found])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        numbers, firsts = np.unique(rows[:, 0], return_index=True)
        parts = np.split(rows[:, 1:], firsts)[1:]
        return {self._name(number): part for number, part in zip(numbers.tolist(), parts, strict=True)}

    def _of_queue(self, core: int, columns: QueueColumns) -> IntArray:
        """Memory, start, end, bytes, whether it is written."""
        packed = columns.packed
        plan = packed.kind.astype(np.int64)
        first, last = (np.searchsorted(self.demands[:, 0], plan, side=side) for side in ("left", "right"))
        counts = last - first
        at = np.repeat(np.arange(len(plan)), counts)
        _, memory, write, size_bytes = self.demands[np.repeat(last - np.cumsum(counts), counts) + np.arange(len(at))].T
        start_ps = packed.end_ps - packed.run_ps + columns.before_ps
        end_ps = packed.end_ps - columns.after_ps
        memory = np.where(memory < 0, k.SHARED + core * k.OWN_MOST - memory - 1, memory)
        return np.column_stack((memory, start_ps[at], end_ps[at], size_bytes, write))

    def _name(self, number: int) -> str:
        if number < k.SHARED:
            return self.shared[number]
        core, place = divmod(number - k.SHARED, k.OWN_MOST)
        return f"{self.own[place]}[{core}]"
