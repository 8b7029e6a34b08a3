"""Records of the compiled machine in few bytes: it writes a page of them, and goes on with an empty one.

A page that is full is packed: each column in the narrowest type that holds its numbers, times as differences. When all
has run, columns are put in the order of queues, one queue after the other.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from archsim.base.arrays import AnyArray, IntArray, narrow
from archsim.ir.records import PackedRecords
from archsim.sim.compiled import layout as k


class QueueColumns(NamedTuple):
    """What a queue has run; kinds of commands are their plans.

    From a command's start its streams begin ``before_ps`` later; ``after_ps`` before its end they end. Shapes
    (commands,), 0 of commands without plan.
    """

    packed: PackedRecords
    before_ps: AnyArray
    after_ps: AnyArray


class RecordPages:
    """Pages so far. ``count``: records on them; ``end_ps``: the latest of their ends."""

    def __init__(self) -> None:
        self.count = 0
        self.end_ps = 0
        self._pages: list[dict[str, AnyArray]] = []

    def take(self, rows: IntArray, phases: IntArray) -> None:
        """Pack a page: rows of RECORDS, and of PHASES in the order of their records."""
        queue, text, head_ps, start_ps, end_ps, unit, index, plan, begun_ps, done_ps = rows.T
        planned = plan >= 0
        record, phase, until_ps = phases.T
        columns = {
            "queue": queue, "text": text, "wait_ps": start_ps - head_ps, "run_ps": end_ps - start_ps,
            "critical_unit": np.where(unit >= 0, unit + len(k.PHASE_NAMES), -1), "critical_index": index, "kind": plan,
            "before_ps": np.where(planned, begun_ps - start_ps, 0), "after_ps": np.where(planned, end_ps - done_ps, 0),
            "phases": np.bincount(record, minlength=len(rows)), "phase": phase, "left_ps": end_ps[record] - until_ps,
        }  # fmt: skip
        self._pages.append({"end_ps": end_ps.copy(), **{name: narrow(column) for name, column in columns.items()}})
        self.count += len(rows)
        self.end_ps = max(self.end_ps, int(end_ps.max(initial=0)))

    def close(self, queues: int, macs: IntArray, slots_per_cycle: IntArray) -> list[QueueColumns]:
        """Hand over what every queue has run. ``macs`` and ``slots_per_cycle``: of plans, and last of having none."""
        of_queue = self._column("queue")
        order = np.argsort(of_queue, kind="stable").astype(np.int32)
        begins = np.searchsorted(of_queue[order], np.arange(queues + 1)).tolist()
        counts = self._column("phases").astype(np.int64)
        first = (np.cumsum(counts) - counts)[order]
        counts = counts[order]
        ends = np.concatenate(([0], np.cumsum(counts)))
        phases = np.repeat((first - ends[:-1]).astype(np.int32), counts) + np.arange(ends[-1], dtype=np.int32)
        of_phases = {name: self._column(name)[phases] for name in ("phase", "left_ps")}
        names = "text", "end_ps", "wait_ps", "run_ps", "critical_unit", "critical_index", "kind"
        of_commands = {name: self._column(name)[order] for name in (*names, "before_ps", "after_ps")}
        found = []
        for begin, end in pairwise(begins):
            own = slice(int(ends[begin]), int(ends[end]))
            packed = PackedRecords(
                **{name: of_commands[name][begin:end] for name in names},
                phases=narrow(ends[begin + 1 : end + 1] - own.start),
                **{name: column[own] for name, column in of_phases.items()},
                macs=macs,
                slots_per_cycle=slots_per_cycle,
            )
            found.append(QueueColumns(packed, *(of_commands[name][begin:end] for name in ("before_ps", "after_ps"))))
        return found

    def _column(self, name: str) -> AnyArray:
        """A column of all pages, which give it away."""
        parts = [page.pop(name) for page in self._pages]
        found: AnyArray = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return found
