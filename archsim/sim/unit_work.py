"""What each unit has done, as attribution needs it: who it is to those that wait for it, and for whom it waited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from archsim.base.arrays import AnyArray, IntArray
from archsim.ir.records import Records
from archsim.sim.holders import NOBODY, Holders, core_and_kind


class HeldStretches(NamedTuple):
    """Of a unit from 0 to its last end, without gap: from ``starts_ps`` on, who holds it up, and for whom (0: it
    works). Shapes (stretches,)."""

    starts_ps: IntArray
    holder: AnyArray
    waiter: AnyArray


class LookBack(NamedTuple):
    """Of each command: the unit whose signal met its wait or -1, when the command there ended, and its last holder."""

    producer: IntArray
    ended_ps: IntArray
    last: AnyArray


class UnitWork:
    """The commands of a unit. ``last``: by command, the holder at its end, NOBODY when it took no time; ``waiter``: who
    it is where it waits.

    ``work_starts`` and ``work``: when it begins to be another holder, and which, while it runs one command after the
    other; ``work_begin``: by command the first of these, and one more at the end.
    """

    def __init__(self, records: Records, holders: Holders) -> None:
        self.records = records
        self.kind = core_and_kind(records.unit)[1]
        stretches, columns = records.stretches(), records.columns()
        self.columns = columns
        work, waiter = holders.unit(records, stretches, columns)
        self.waiter = waiter.astype(np.int32)
        self.last = np.full(len(records), NOBODY, dtype=np.int32)
        self.last[stretches.record] = work
        gaps = stretches.start_ps != np.concatenate(([-1], stretches.end_ps))[:-1]
        alone = gaps | (np.diff(work, prepend=NOBODY) != 0)
        self.work_begin = np.searchsorted(stretches.record[alone], np.arange(len(records) + 1)).astype(np.int32)
        self.work_starts = stretches.start_ps[alone]
        self.work = work[alone].astype(np.int32)

    def hand_over(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """``work_begin``, ``work_starts`` and ``work``, which it does not keep."""
        found = self.work_begin, self.work_starts, self.work
        del self.work_begin, self.work_starts, self.work
        return found


def producers(units: Sequence[UnitWork]) -> Iterator[IntArray]:
    """Of the commands of each unit, the unit whose signal met its wait, or -1."""
    numbers = {unit.records.unit: number for number, unit in enumerate(units)}
    for unit in units:
        of_names = np.array([*(numbers.get(name, -1) for name in unit.records.names), -1])
        yield of_names[unit.columns.critical_unit]


def look_back(units: Sequence[UnitWork]) -> Iterator[LookBack]:
    """Tell every command of its producer."""
    base = np.cumsum([0, *(len(unit.records) for unit in units)])
    end_ps = np.concatenate([np.zeros(0, dtype=np.int64), *(unit.columns.end_ps for unit in units)])
    last = np.concatenate([np.zeros(0, dtype=np.int32), *(unit.last for unit in units)])
    for unit, producer in zip(units, producers(units), strict=True):
        at = np.where(producer < 0, 0, base[producer] + unit.columns.critical_index)
        yield LookBack(producer, end_ps[at], np.where(producer < 0, NOBODY, last[at]))
