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

ROOM = 8  # stretches at first, for each of the units' own: room that nothing is written to costs no memory
PAGES = 64  # of a unit, at first


def at_once(units: Sequence[UnitWork]) -> Iterator[HeldStretches]:
    """The stretches of every unit; raises SimulationError when waits depend on each other."""
    from archsim.sim.compiled import blame as k  # the compiler is slow to import: only now

    tables = _tables(units)
    size = (ROOM * len(tables.work) // k.PAGE + 2 * len(units)) * k.PAGE
    held = HeldStretches(np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size, np.int32))
    for number in range(len(units)):
        while (found := k.resolve(tables, held.starts_ps, held.holder, held.waiter, number, NOBODY)) != k.RESOLVED:
            if found == k.CIRCLE:
                raise _circle(units, tables)
            tables, held = _with_room(tables, held)
    for row, pages in zip(tables.units.tolist(), tables.pages, strict=True):
        own, count = pages[: row[k.PAGES]], row[k.COUNT]
        yield HeldStretches(*(column.reshape(-1, k.PAGE)[own].reshape(-1)[:count] for column in held))


def _tables(units: Sequence[UnitWork]) -> Any:
    """What the compiled code reads; the units' own work is handed over."""
    from archsim.sim.compiled import blame as k

    lengths = np.array([len(unit.records) for unit in units], dtype=np.int64)
    rows = np.zeros((len(units), k.UNIT_WIDTH), dtype=np.int64)
    rows[:, k.END] = np.cumsum(lengths)
    rows[:, k.BEGIN] = rows[:, k.READY] = rows[:, k.END] - lengths
    own = np.array([len(unit.work) for unit in units], dtype=np.int64)
    begins, starts, work = zip(*[unit.hand_over() for unit in units], strict=True) if units else ((), (), ())
    first = np.cumsum(own) - own
    of_commands = [each[:-1] + before for each, before in zip(begins, first.tolist(), strict=True)]
    return k.BlameTables(
        units=rows,
        start_ps=_joined([unit.columns.start_ps for unit in units], np.int64),
        end_ps=_joined([unit.columns.end_ps for unit in units], np.int64),
        producer=_joined([*producers(units)], np.int32),
        critical=_joined([unit.columns.critical_index for unit in units], np.int32),
        last=_joined([unit.last for unit in units], np.int32),
        waiter=_joined([unit.waiter for unit in units], np.int32),
        work_begin=np.append(_joined(of_commands, np.int64), own.sum()),
        work_starts=_joined(starts, np.int64),
        work=_joined(work, np.int32),
        pages=np.zeros((len(units), PAGES), dtype=np.int64),
        stack=np.zeros((len(units) + 2, 2), dtype=np.int64),
        progress=np.zeros(2, dtype=np.int64),
    )


def _joined(columns: Sequence[AnyArray], kind: type) -> AnyArray:
    """One behind the other."""
    found: AnyArray = np.empty(sum(map(len, columns)), dtype=kind)
    np.concatenate([np.zeros(0, dtype=kind), *columns], out=found, casting="same_kind")
    return found


def _with_room(tables: Any, held: HeldStretches) -> tuple[Any, HeldStretches]:
    """Half as many pages more where all are taken, else twice the room for their numbers."""
    from archsim.sim.compiled import blame as k

    size = len(held.starts_ps)
    if int(tables.progress[k.TAKEN]) * k.PAGE < size:
        return tables._replace(pages=np.concatenate((tables.pages, np.zeros_like(tables.pages)), axis=1)), held
    more = (size // k.PAGE // 2 + 1) * k.PAGE
    columns = [np.empty(size + more, dtype=column.dtype) for column in held]
    for column, before in zip(columns, held, strict=True):
        column[:size] = before
    return tables, HeldStretches(*columns)


def _circle(units: Sequence[UnitWork], tables: Any) -> SimulationError:
    """That waits depend on each other, around the command which the last of them stands at."""
    from archsim.sim.compiled import blame as k

    number = int(tables.stack[tables.progress[k.DEPTH] - 1, 0])
    row = units[number].records[int(tables.units[number, k.READY] - tables.units[number, k.BEGIN])]
    return SimulationError(f"waits depend on each other around '{row.name}' of {row.unit}")
