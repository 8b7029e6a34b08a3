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

from archsim.base.arrays import narrow
from archsim.base.errors import SimulationError
from archsim.ir.activity import Activity
from archsim.ir.timeline import Timeline, UnitState
from archsim.sim.blame_at_once import at_once
from archsim.sim.holders import IDLE, Holders
from archsim.sim.unit_work import HeldStretches, LookBack, UnitWork, look_back

MANY = 20_000  # commands from which on all are resolved by compiled code

# Of a command that waited: its number, end of the one before, its start, producing unit or -1, producing command, its
# end, its last holder, the waiter.
WaitRow = tuple[int, int, int, int, int, int, int, int]


def timelines(activity: Activity) -> dict[str, Timeline]:
    """The timeline of every unit of ``activity``; raises SimulationError when waits depend on each other."""
    holders = Holders()
    units = [UnitWork(records, holders) for records in activity.records.values()]
    many = sum(len(unit.records) for unit in units) >= MANY
    last_ends = _last_ends(units)
    found = {}
    for unit, stretches in zip(units, at_once(units) if many else one_by_one(units), strict=True):
        found[unit.records.unit] = _closed(unit, stretches, holders, activity.total_ps, last_ends[unit.kind])
    return found


def one_by_one(units: Sequence[UnitWork]) -> Iterator[HeldStretches]:
    """The stretches of every unit; raises SimulationError when waits depend on each other."""
    found = [_Unit(unit) for unit in units]
    for unit, back in zip(found, look_back(units), strict=True):
        unit.plan(back)
    for number, unit in enumerate(found):
        _run(found, number, len(unit.records))
    for unit in found:
        yield unit.stretches()
        del unit.starts, unit.holders


class _Unit:
    """A timeline under construction: from ``starts[i]`` on others would blame ``holders[i]``.

    ``waiters``: for whom stretches were taken over (0: the unit worked), and how many. ``ready``: commands before this
    one are on the timeline.
    """

    def __init__(self, work: UnitWork) -> None:
        self.records = work.records
        self.ready = 0
        self._of = work
        self._waits: Iterator[WaitRow] = iter(())
        self._wait: WaitRow = (0,) * 8
        self.starts, self.holders = array("q"), array("i")
        self._waiters = array("i")  # in turn with how many
        self._work_begin = narrow(work.work_begin).data
        self._work_starts = array("q", work.work_starts.tobytes())
        self._work = array("i", work.work.tobytes())

    def plan(self, back: LookBack) -> None:
        """Say of each command its producing unit, when the command there ended, and its last holder."""
        columns = self._of.columns
        start_ps, before_ps = columns.start_ps, np.concatenate(([0], columns.end_ps))[:-1]
        at = np.flatnonzero(start_ps > before_ps)
        cells = (before_ps, start_ps, back.producer, columns.critical_index, back.ended_ps, back.last, self._of.waiter)
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

    def stretches(self) -> HeldStretches:
        """All of them, once every command is there."""
        waiter = np.repeat(*np.array(self._waiters).reshape(-1, 2).T)
        return HeldStretches(np.array(self.starts), np.array(self.holders), waiter)


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


def _last_ends(units: Sequence[UnitWork]) -> dict[str, list[tuple[int, str]]]:
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


def _closed(
    unit: UnitWork,
    stretches: HeldStretches,
    holders: Holders,
    total_ps: int,
    last_ends: Sequence[tuple[int, str]],
) -> Timeline:
    """Append what follows the last command: imbalance while others of its kind still run a layer, else idle."""
    start_ps, holder, waiter = stretches
    new = (np.diff(holder, prepend=-1) != 0) | (np.diff(waiter, prepend=-1) != 0)
    starts: list[int] = []
    states: list[UnitState] = []
    now = int(unit.columns.end_ps[-1]) if len(unit.records) else 0
    for end_ps, layer in last_ends:
        if end_ps > now:
            starts.append(now)
            states.append(UnitState(layer, "imbalance", ""))
            now = end_ps
    if now < total_ps:
        starts.append(now)
        states.append(IDLE)
    start_ps = np.concatenate((start_ps[new], np.array(starts, dtype=np.int64)))
    return holders.timeline(start_ps, holder[new], waiter[new], states)
