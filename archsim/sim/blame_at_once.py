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
from archsim.base.memory import Pages
from archsim.sim.holders import NOBODY
from archsim.sim.unit_work import HeldStretches, UnitWork, producers

ROOM = 8  # stretches at first, for each of the units' own: room that nothing is written to costs no memory
PAGES = 64  # of a unit, at first


def at_once(units: Sequence[UnitWork]) -> Iterator[HeldStretches]:
    """The stretches of every unit; raises SimulationError when waits depend on each other."""
    from archsim.sim.compiled import blame as k  # the compiler is slow to import: only now

    tables = _tables(units)
    pages = ROOM * len(tables.work) // k.PAGE + 2 * len(units)
    starts_ps, holder = Pages(pages, k.PAGE, np.int64), Pages(pages, k.PAGE, np.int32)
    for number in range(len(units)):
        while (found := k.resolve(tables, starts_ps.array, holder.array, number, NOBODY)) != k.RESOLVED:
            if found == k.CIRCLE:
                raise _circle(units, tables)
            if int(tables.progress[k.TAKEN]) < pages:
                tables = tables._replace(pages=np.concatenate((tables.pages, np.zeros_like(tables.pages)), axis=1))
            else:
                pages += pages // 2 + 1
                starts_ps, holder = _larger(starts_ps, pages, k.PAGE), _larger(holder, pages, k.PAGE)
    rows, of_units, taken, work_begin = tables.units, tables.pages, tables.taken, tables.work_begin
    del tables
    for unit, row, numbers in zip(units, rows.tolist(), of_units, strict=True):
        own, count, commands = numbers[: row[k.PAGES]], row[k.COUNT], slice(row[k.BEGIN], row[k.END])
        begins, held = (column.array.reshape(-1, k.PAGE)[own].reshape(-1)[:count] for column in (starts_ps, holder))
        starts_ps.release(own.tolist())
        holder.release(own.tolist())
        works = np.diff(work_begin[commands.start : commands.stop + 1])
        yield HeldStretches(begins, held, _waiters(unit.waiter, taken[commands], works))


def _waiters(waiter: AnyArray, taken: AnyArray, works: AnyArray) -> AnyArray:
    """For whom each stretch is, from how many each command took over while it waited, and has of its own."""
    whose = np.stack((waiter, np.zeros_like(waiter)), axis=1).reshape(-1)
    return np.repeat(whose, np.stack((taken, works), axis=1).reshape(-1))


def _larger(column: Pages, pages: int, items: int) -> Pages:
    """The same column with room for so many pages."""
    found = Pages(pages, items, column.array.dtype)
    found.array[: len(column.array)] = column.array
    return found


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
        taken=np.zeros(int(lengths.sum()), dtype=np.int32),
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


def _circle(units: Sequence[UnitWork], tables: Any) -> SimulationError:
    """That waits depend on each other, around the command which the last of them stands at."""
    from archsim.sim.compiled import blame as k

    number = int(tables.stack[tables.progress[k.DEPTH] - 1, 0])
    row = units[number].records[int(tables.units[number, k.READY] - tables.units[number, k.BEGIN])]
    return SimulationError(f"waits depend on each other around '{row.name}' of {row.unit}")
