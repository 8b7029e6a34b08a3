"""Who holds each unit up, instant by instant: the timelines that every attribution is a sum of.

A unit is BUSY (runs a command), WAIT (a command heads its queue and has not started; so from time 0) or DONE.

BUSY. Arrays: weight_load (the operand that stays is shifted in and nothing hides it), fill_drain, stall_sram_port (the
command is stretched by shared ports), busy. Vector units: stall_sram_port, busy. SETUP: launch. Everything else: busy.

WAIT. The command whose signal came last is blamed: the wait takes over that producer's own timeline of the
same instants, whose waits are resolved in the same way, so that every instant ends at a BUSY unit, the
*holder*:

    holder                                            cause of the wait
    load, store: its phase                            stall_dram, stall_noc (bytes on the network; a move between
                                                      places on chip, as long as it takes alone), stall_sram_port
    host, SETUP                                       launch
    array, vector: same kind and layer, another core  imbalance
    array, vector: stretched by a wait (ports)        that wait: stall_sram_port
    array of the waiter's core and layer              stall_compute (a waiting array: stall_dependency)
    vector, another array or layer                    stall_dependency

Phases are charged to the causes whose engine names them (``ir.causes``).

From the producer's end to the start (a clock crossing) its last holder stays to blame. A wait that no
producer explains is stall_dependency. The layer is that of the waiting command, the operand the role of the
holder's.

DONE. imbalance while the same kind of unit in another core still runs the layer that ran last, else idle.

A wait depends only on commands that happened before it, so waits are taken in that order, each once; the stretch of
the producer's timeline is found by bisection and taken over as it is. What holders and waiters are to each other
(``holders``) is worked out for all of a unit's stretches at once.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from archsim.base.arrays import AnyArray, IntArray, narrow
from archsim.base.errors import SimulationError
from archsim.ir.activity import Activity
from archsim.ir.records import Records
from archsim.ir.timeline import Timeline, UnitState
from archsim.sim.holders import IDLE, NOBODY, Holders, core_and_kind

# Of a command that waited: its number, end of the one before, its start, producing unit or -1, producing command, its
# end, its last holder, the waiter.
WaitRow = tuple[int, int, int, int, int, int, int, int]


def timelines(activity: Activity) -> dict[str, Timeline]:
    """The timeline of every unit of ``activity``; raises SimulationError when waits depend on each other."""
    holders = Holders()
    units = [_Unit(records, holders) for records in activity.records.values()]
    _look_back(units)
    for number, unit in enumerate(units):
        _run(units, number, len(unit.records))
    last_ends = _last_ends(units)
    found = {}
    for unit in units:
        found[unit.records.unit] = unit.close(holders, activity.total_ps, last_ends[unit.kind])
        del unit.starts, unit.holders
    return found


class _Unit:
    """A timeline under construction: from ``starts[i]`` on others would blame ``holders[i]``.

    ``waiters``: for whom stretches were taken over (0: the unit worked), and how many. ``last``: by command, the holder
    at its end (``end_ps``), NOBODY when it took no time. ``ready``: commands before this one are on the timeline.
    """

    def __init__(self, records: Records, holders: Holders) -> None:
        self.records = records
        self.kind = core_and_kind(records.unit)[1]
        stretches, columns = records.stretches(), records.columns()
        self.columns = columns
        work, self._waiter = holders.unit(records, stretches, columns)
        self.last = np.full(len(records), NOBODY, dtype=np.int32)
        self.last[stretches.record] = work
        self.ready = 0
        self._waits: Iterator[WaitRow] = iter(())
        self._wait: WaitRow = (0,) * 8
        self.starts, self.holders = array("q"), array("i")
        self._waiters = array("i")  # in turn with how many
        gaps = stretches.start_ps != np.concatenate(([-1], stretches.end_ps))[:-1]
        alone = gaps | (np.diff(work, prepend=NOBODY) != 0)
        self._work_begin = narrow(np.searchsorted(stretches.record[alone], np.arange(len(records) + 1))).data
        self._work_starts = array("q", stretches.start_ps[alone].tobytes())
        self._work = array("i", work[alone].astype(np.int32).tobytes())

    def plan(self, producer: IntArray, ended_ps: IntArray, last: AnyArray) -> None:
        """Say of each command its producing unit, when the command there ended, and its last holder."""
        columns = self.columns
        start_ps, before_ps = columns.start_ps, np.concatenate(([0], columns.end_ps))[:-1]
        at = np.flatnonzero(start_ps > before_ps)
        cells = (before_ps, start_ps, producer, columns.critical_index, ended_ps, last, self._waiter)
        self._waits = zip(narrow(at).data, *(narrow(cell[at]).data for cell in cells), strict=True)
        self._work_until_next(0)

    def go(self, need: int, units: Sequence[_Unit]) -> tuple[int, int] | None:
        """Take commands until ``need`` are done; unit and command that the next one depends on, where that is not."""
        while self.ready < need:
            index, now, start, producer, critical, ended, last, waiter = self._wait
            count = len(self.starts)
            if producer >= 0:
                unit = units[producer]
                if unit.ready <= critical:
                    return producer, critical
                if now < ended:
                    self._take_over(unit, now, min(ended, start))
                    now = ended
            if now < start:
                self.starts.append(now)
                self.holders.append(last)
            self._waiters.extend((waiter, len(self.starts) - count))
            self._work_until_next(index)
        return None

    def _take_over(self, unit: _Unit, start_ps: int, end_ps: int) -> None:
        """Append who holds ``unit`` in [start_ps, end_ps)."""
        starts = unit.starts
        first = bisect_right(starts, start_ps) - 1
        end = bisect_left(starts, end_ps, first + 1)
        self.starts.append(start_ps)
        self.starts += starts[first + 1 : end]
        self.holders += unit.holders[first:end]

    def _work_until_next(self, index: int) -> None:
        """Append the runs of command ``index`` and of those after it that did not wait."""
        following = next(self._waits, None)
        if following is None:
            self.ready = len(self.records)
        else:
            self._wait, self.ready = following, following[0]
        begin, end = self._work_begin[index], self._work_begin[self.ready]
        self.starts += self._work_starts[begin:end]
        self.holders += self._work[begin:end]
        self._waiters.extend((0, end - begin))

    def close(self, holders: Holders, total_ps: int, last_ends: Sequence[tuple[int, str]]) -> Timeline:
        """Append what follows the last command and hand over the timeline: imbalance while others of its kind still run
        a layer, else idle."""
        waiter = np.repeat(*np.array(self._waiters).reshape(-1, 2).T)
        holder = np.array(self.holders)
        new = (np.diff(holder, prepend=-1) != 0) | (np.diff(waiter, prepend=-1) != 0)
        starts: list[int] = []
        codes: list[int] = []
        now = int(self.columns.end_ps[-1]) if len(self.records) else 0
        for end_ps, layer in last_ends:
            if end_ps > now:
                starts.append(now)
                codes.append(holders.code(UnitState(layer, "imbalance", "")))
                now = end_ps
        if now < total_ps:
            starts.append(now)
            codes.append(holders.code(IDLE))
        return holders.timeline(
            np.concatenate((np.array(self.starts)[new], np.array(starts, dtype=np.int64))),
            np.concatenate((holders.codes(holder[new], waiter[new]), np.array(codes, dtype=np.int64))),
        )


def _look_back(units: Sequence[_Unit]) -> None:
    """Tell every command of its producer."""
    numbers = {unit.records.unit: number for number, unit in enumerate(units)}
    base = np.cumsum([0, *(len(unit.records) for unit in units)])
    end_ps = np.concatenate([np.zeros(0, dtype=np.int64), *(unit.columns.end_ps for unit in units)])
    last = np.concatenate([np.zeros(0, dtype=np.int32), *(unit.last for unit in units)])
    for unit in units:
        columns = unit.columns
        of_names = np.array([numbers.get(name, -1) for name in unit.records.names])
        critical = columns.critical_unit
        producer = np.where(critical < 0, -1, of_names[critical])
        at = np.where(producer < 0, 0, base[producer] + columns.critical_index)
        unit.plan(producer, end_ps[at], np.where(producer < 0, NOBODY, last[at]))


def _run(units: Sequence[_Unit], number: int, count: int) -> None:
    """Resolve the first ``count`` commands of a unit, and before each one those that it depends on."""
    pending = [(number, count)]
    under_way: set[tuple[int, int]] = set()
    while pending:
        unit, need = pending[-1]
        awaited = units[unit].go(need, units)
        if awaited is None:
            pending.pop()
            if pending:
                under_way.discard((pending[-1][0], units[pending[-1][0]].ready))
            continue
        at = unit, units[unit].ready
        if at in under_way:
            row = units[unit].records[at[1]]
            raise SimulationError(f"waits depend on each other around '{row.name}' of {row.unit}")
        under_way.add(at)
        pending.append((awaited[0], awaited[1] + 1))


def _last_ends(units: Sequence[_Unit]) -> dict[str, list[tuple[int, str]]]:
    """Kind -> when the last of its units ended each layer, and the layer, in the order of time."""
    found: dict[str, dict[str, int]] = {}
    for unit in units:
        ends = found.setdefault(unit.kind, {})
        text, at = np.unique(unit.columns.text[::-1], return_index=True)
        last_ps = unit.columns.end_ps[::-1][at]
        for number, end_ps in zip(text.tolist(), last_ps.tolist(), strict=True):
            layer = unit.records.texts[number].layer
            ends[layer] = max(ends.get(layer, 0), end_ps)
    return {kind: sorted((end_ps, layer) for layer, end_ps in ends.items()) for kind, ends in found.items()}
