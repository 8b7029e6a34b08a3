"""All waits of a run resolved by compiled code: what ``blame`` does command by command in Python.

A run of millions of commands has more stretches than Python can take over one by one; a small one is done before the
code is loaded. Both give the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from archsim.base.arrays import AnyArray
from archsim.base.errors import SimulationError
from archsim.sim.holders import NOBODY
from archsim.sim.unit_work import HeldStretches, UnitWork, producers

ROOM = 2  # stretches of a unit at first, for each of its own


def at_once(units: Sequence[UnitWork]) -> Iterator[HeldStretches]:
    """The stretches of every unit; raises SimulationError when waits depend on each other."""
    from archsim.sim.compiled import blame as k  # the compiler is slow to import: only now

    tables = _tables(units)
    rows = tables.units
    rows[:, k.FIRST] = np.cumsum(rows[:, k.ROOM]) - rows[:, k.ROOM]
    size = int(rows[:, k.ROOM].sum())
    held = tuple(np.empty(size, dtype=kind) for kind in (np.int64, np.int32, np.int32))
    for number in range(len(units)):
        while (found := k.resolve(tables, *held, number, NOBODY)) != k.RESOLVED:
            if found == k.CIRCLE:
                raise _circle(units, tables)
            held = _with_room(tables, held)
    for first, count in rows[:, [k.FIRST, k.COUNT]].tolist():
        yield HeldStretches(*(array[first : first + count] for array in held))


def _tables(units: Sequence[UnitWork]) -> Any:
    """What the compiled code reads; the units' own work is handed over."""
    from archsim.sim.compiled import blame as k

    lengths = np.array([len(unit.records) for unit in units], dtype=np.int64)
    rows = np.zeros((len(units), k.UNIT_WIDTH), dtype=np.int64)
    rows[:, k.END] = np.cumsum(lengths)
    rows[:, k.BEGIN] = rows[:, k.READY] = rows[:, k.END] - lengths
    own = np.array([len(unit.work) for unit in units], dtype=np.int64)
    rows[:, k.ROOM] = ROOM * own + 64
    begins, starts, work = zip(*[unit.hand_over() for unit in units], strict=True) if units else ((), (), ())
    first = np.cumsum(own) - own
    begins = [each[:-1] + before for each, before in zip(begins, first.tolist(), strict=True)]
    return k.BlameTables(
        units=rows,
        start_ps=_joined([unit.columns.start_ps for unit in units], np.int64),
        end_ps=_joined([unit.columns.end_ps for unit in units], np.int64),
        producer=_joined([*producers(units)], np.int32),
        critical=_joined([unit.columns.critical_index for unit in units], np.int32),
        last=_joined([unit.last for unit in units], np.int32),
        waiter=_joined([unit.waiter for unit in units], np.int32),
        work_begin=np.append(_joined(begins, np.int64), own.sum()),
        work_starts=_joined(starts, np.int64),
        work=_joined(work, np.int32),
        stack=np.zeros((len(units) + 2, 2), dtype=np.int64),
        progress=np.zeros(3, dtype=np.int64),
    )


def _joined(columns: Sequence[AnyArray], kind: type) -> AnyArray:
    """One behind the other."""
    found = np.empty(sum(map(len, columns)), dtype=kind)
    np.concatenate([np.zeros(0, dtype=kind), *columns], out=found, casting="same_kind")
    return found


def _with_room(tables: Any, held: tuple[AnyArray, ...]) -> tuple[AnyArray, ...]:
    """Twice the room for the unit that lacks some, behind all others."""
    from archsim.sim.compiled import blame as k

    row = tables.units[tables.progress[k.SHORT]]
    first, count, size = int(row[k.FIRST]), int(row[k.COUNT]), len(held[0])
    row[k.FIRST] = int((tables.units[:, k.FIRST] + tables.units[:, k.ROOM]).max())
    row[k.ROOM] += max(int(row[k.ROOM]), int(tables.progress[k.LACKING]))
    to, needed = int(row[k.FIRST]), int(row[k.FIRST] + row[k.ROOM])
    if needed > size:
        more = max(needed - size, size // 2)
        held = tuple(np.concatenate((array, np.empty(more, dtype=array.dtype))) for array in held)
    for array in held:
        array[to : to + count] = array[first : first + count]
    return held


def _circle(units: Sequence[UnitWork], tables: Any) -> SimulationError:
    """That waits depend on each other, around the command which the last of them stands at."""
    from archsim.sim.compiled import blame as k

    number = int(tables.stack[tables.progress[k.DEPTH] - 1, 0])
    row = units[number].records[int(tables.units[number, k.READY] - tables.units[number, k.BEGIN])]
    return SimulationError(f"waits depend on each other around '{row.name}' of {row.unit}")
