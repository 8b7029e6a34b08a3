"""Whose timeline each wait takes over, for all commands of a run at once; the rules are those of ``archsim.sim.blame``.

Stretches of a unit stand one after the other, from its own place in ``starts``, ``held_by`` and ``waiters`` on, where
it has so much room. Of two stretches with one holder that a wait takes over the first one reaches to the end of both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.base.jit import entry, inlined, njit

UNIT_WIDTH = 7
# of a unit: its first command and the one after its last; the first one that is not on its timeline yet; where its
# stretches begin, how many there are, and for how many there is room; whether that command waits for another unit
BEGIN, END, READY, FIRST, COUNT, ROOM, AWAITED = range(UNIT_WIDTH)
RESOLVED, FULL, CIRCLE = range(3)
DEPTH, SHORT, LACKING = range(3)  # of ``progress``: units that wait for one another; which one has no room, how much
NONE = -1


class BlameTables(NamedTuple):
    """``units``: rows as above; the others by command, each unit's behind those of the one before. ``producer``: whose
    signal met its wait, a unit or NONE, and ``critical``, which command there. ``last``: the holder at its end;
    ``waiter``: who it is where it waits. ``work_begin``: its first own stretch, one more at the end; ``work_*``: of
    those. ``stack``: (unit, command) that are under way, one after the other."""

    units: Any
    start_ps: Any
    end_ps: Any
    producer: Any
    critical: Any
    last: Any
    waiter: Any
    work_begin: Any
    work_starts: Any
    work: Any
    stack: Any
    progress: Any


@entry
@njit
def resolve(tables: Any, starts: Any, held_by: Any, waiters: Any, number: int, nobody: int) -> int:
    """Put all commands of unit ``number`` on its timeline, and before each those that it depends on.

    FULL: a unit has no room for what comes next; make some and call again. CIRCLE: waits depend on each other, around
    the command at which the unit on top of the stack stands.
    """
    units, stack, progress = tables.units, tables.stack, tables.progress
    if progress[DEPTH] == 0:
        _push(tables, number, units[number, END])
    while progress[DEPTH]:
        top = progress[DEPTH] - 1
        unit = stack[top, 0]
        if units[unit, READY] >= stack[top, 1]:
            progress[DEPTH] = top
            if top:
                units[stack[top - 1, 0], AWAITED] = 0
            continue
        command = units[unit, READY]
        producer = NONE
        if _waits(tables, unit, command):
            producer = tables.producer[command]
        if producer != NONE and units[producer, READY] <= units[producer, BEGIN] + tables.critical[command]:
            if units[unit, AWAITED]:
                return CIRCLE
            units[unit, AWAITED] = 1
            _push(tables, producer, units[producer, BEGIN] + tables.critical[command] + 1)
            continue
        if not _place(tables, starts, held_by, waiters, unit, nobody):
            return FULL
        units[unit, READY] += 1
    return RESOLVED


@inlined
def _push(tables: Any, unit: int, need: int) -> None:
    top = tables.progress[DEPTH]
    tables.stack[top, 0], tables.stack[top, 1] = unit, need
    tables.progress[DEPTH] = top + 1


@inlined
def _before_ps(tables: Any, unit: int, command: int) -> int:
    """The end of the command before, 0 of the first one."""
    found: int = tables.end_ps[command - 1] if command > tables.units[unit, BEGIN] else 0
    return found


@inlined
def _waits(tables: Any, unit: int, command: int) -> bool:
    waits: bool = tables.start_ps[command] > _before_ps(tables, unit, command)
    return waits


@njit
def _place(tables: Any, starts: Any, held_by: Any, waiters: Any, unit: int, nobody: int) -> bool:
    """Append the wait of the unit's next command, and its work; whether there was room."""
    row = tables.units[unit]
    command = row[READY]
    begin, end = tables.work_begin[command], tables.work_begin[command + 1]
    producer, done, first, last, ended = NONE, NONE, 0, 0, 0
    now, start = _before_ps(tables, unit, command), tables.start_ps[command]
    if now < start:
        producer = tables.producer[command]
    if producer != NONE:
        done = tables.units[producer, BEGIN] + tables.critical[command]
        ended = tables.end_ps[done]
        if now < ended:
            first = _place_of(tables, starts, producer, now)
            last = _place_of(tables, starts, producer, min(ended, start) - 1) + 1
    more = end - begin + last - first + 1
    if row[COUNT] + more > row[ROOM]:
        tables.progress[SHORT], tables.progress[LACKING] = unit, row[COUNT] + more - row[ROOM]
        return False
    to = row[FIRST] + row[COUNT]
    if now < start:
        waiter = tables.waiter[command]
        for place in range(first, last):
            if place == first or held_by[place] != held_by[place - 1]:
                starts[to], held_by[to], waiters[to] = max(starts[place], now), held_by[place], waiter
                to += 1
        now = max(now, ended)
        if now < start:
            holder = nobody if done == NONE else tables.last[done]
            starts[to], held_by[to], waiters[to] = now, holder, waiter
            to += 1
    for place in range(begin, end):
        starts[to], held_by[to], waiters[to] = tables.work_starts[place], tables.work[place], 0
        to += 1
    row[COUNT] = to - row[FIRST]
    return True


@njit
def _place_of(tables: Any, starts: Any, unit: int, at_ps: int) -> int:
    """Of the unit's stretch that holds at an instant."""
    low, high = tables.units[unit, FIRST], tables.units[unit, FIRST] + tables.units[unit, COUNT]
    step = 1
    while high - step > low and starts[high - step] > at_ps:
        high -= step
        step *= 2
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= at_ps:
            low = middle
        else:
            high = middle
    return int(low)
