"""Whose timeline each wait takes over, for all commands of a run at once; the rules are those of ``archsim.sim.blame``.

Stretches stand in pages of ``starts`` and ``held_by``, which a unit takes as it needs them. Of two stretches with
one holder that a wait takes over the first one reaches to the end of both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.base.jit import entry, inlined, njit

UNIT_WIDTH = 6
# of a unit: its first command and the one after its last; the first one that is not on its timeline yet; how many
# stretches it has, and pages; whether that command waits for another unit
BEGIN, END, READY, COUNT, PAGES, AWAITED = range(UNIT_WIDTH)
PAGE_BITS = 12
PAGE = 1 << PAGE_BITS  # stretches of a page
RESOLVED, FULL, CIRCLE = range(3)
DEPTH, TAKEN = range(2)  # of ``progress``: units that wait for one another, and pages in use
NONE = -1


class BlameTables(NamedTuple):
    """``units``: rows as above; the others by command, each unit's behind those of the one before. ``producer``: whose
    signal met its wait, a unit or NONE, and ``critical``, which command there. ``last``: the holder at its end;
    ``taken``: how many stretches its wait takes over, written here. ``work_begin``: its first own
    stretch, one more at the end; ``work_*``: of those. ``pages``: numbers of a unit's pages, in order. ``stack``:
    (unit, command) that are under way, in order."""

    units: Any
    start_ps: Any
    end_ps: Any
    producer: Any
    critical: Any
    last: Any
    taken: Any
    work_begin: Any
    work_starts: Any
    work: Any
    pages: Any
    stack: Any
    progress: Any


@entry
@njit
def resolve(tables: Any, starts: Any, held_by: Any, number: int, nobody: int) -> int:
    """Put all commands of unit ``number`` on its timeline, and before each those that it depends on.

    FULL: there is no page, or no room for its number; make some and call again. CIRCLE: waits depend on each other,
    around the command at which the unit on top of the stack stands.
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
        if not _place(tables, starts, held_by, unit, nobody):
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


@inlined
def _at(tables: Any, unit: int, place: int) -> int:
    """Where a stretch of a unit stands."""
    found: int = tables.pages[unit, place >> PAGE_BITS] << PAGE_BITS | (place & (PAGE - 1))
    return found


@njit
def _has_room(tables: Any, starts: Any, unit: int, count: int) -> bool:
    """Take pages until a unit has room for so many stretches; whether that was possible."""
    row, progress = tables.units[unit], tables.progress
    while row[PAGES] << PAGE_BITS < count:
        if (progress[TAKEN] + 1) << PAGE_BITS > starts.size or row[PAGES] == tables.pages.shape[1]:
            return False
        tables.pages[unit, row[PAGES]] = progress[TAKEN]
        progress[TAKEN] += 1
        row[PAGES] += 1
    return True


@njit
def _place(tables: Any, starts: Any, held_by: Any, unit: int, nobody: int) -> bool:
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
    count = row[COUNT]
    if not _has_room(tables, starts, unit, count + end - begin + last - first + 1):
        return False
    if now < start:
        before = NONE
        for place in range(first, last):
            source = _at(tables, producer, place)
            holder = held_by[source]
            if holder != before:
                to = _at(tables, unit, count)
                starts[to], held_by[to] = max(starts[source], now), holder
                count += 1
            before = holder
        now = max(now, ended)
        if now < start:
            to = _at(tables, unit, count)
            starts[to], held_by[to] = now, nobody if done == NONE else tables.last[done]
            count += 1
    tables.taken[command] = count - row[COUNT]
    for place in range(begin, end):
        to = _at(tables, unit, count)
        starts[to], held_by[to] = tables.work_starts[place], tables.work[place]
        count += 1
    row[COUNT] = count
    return True


@njit
def _place_of(tables: Any, starts: Any, unit: int, at_ps: int) -> int:
    """Which stretch of a unit holds at an instant: seek back from the last one, in ever longer steps."""
    low, high, step = 0, tables.units[unit, COUNT], 1
    while high - step > low and starts[_at(tables, unit, high - step)] > at_ps:
        high -= step
        step *= 2
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        if starts[_at(tables, unit, middle)] <= at_ps:
            low = middle
        else:
            high = middle
    return int(low)
