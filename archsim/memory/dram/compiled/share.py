"""The fast DRAM model beside the event loop: transfers share the memory's time (``memory.dram.fast_model`` says how).

Work is counted that a transfer would have had that is under way all the time; one that comes is through when that has
grown by its own. So those under way are sorted by the work at which they are through, and those that are through, for
whom the latency is left, by their ends; of equal ones, in the order in which they came.
"""

from __future__ import annotations

from typing import Any

from archsim.base import served
from archsim.base.addressed import value_at, word_at
from archsim.base.jit import addressed, njit
from archsim.base.units import PS_PER_S
from archsim.memory.dram.compiled import crowds
from archsim.memory.dram.compiled import fast_records as k
from archsim.memory.dram.compiled.charges import charge
from archsim.memory.dram.compiled.clock import scaled
from archsim.memory.dram.compiled.fast_rates import floor_of
from archsim.memory.dram.compiled.fast_records import FastState
from archsim.memory.dram.compiled.kinds import kind_of
from archsim.memory.dram.compiled.records import MOVED, NEVER, NONE, NOW_PS, TRACES, USEFUL_READ
from archsim.memory.dram.compiled.sorted_slots import insert, take_first


@addressed
@njit
def submit(kind: Any, table: int, at_ps: int, rows: int, count: int) -> int:
    """Take the requests of an instant; how many of them, fewer where Python is to be asked for something before."""
    state = value_at(kind, table)
    if count == 0 or not _catch_up(state, at_ps):
        return 0
    for number in range(count):
        if not _begin(state, rows + 8 * number * served.REQUEST_WIDTH, at_ps):
            return number
    served_ps = _served_ps(state)
    next_ps = state.header[k.REACHED_PS] if served_ps == k.LACKING else served_ps
    state.header[served.NEXT_PS] = min(_end_ps(state), next_ps)
    return count


@addressed
@njit
def advance(kind: Any, table: int, until_ps: int, _: int, __: int) -> int:
    """Run to the first instant up to ``until_ps`` with completions; how many, or that Python is to be asked first."""
    state = value_at(kind, table)
    header = state.header
    if header[TRACES] and header[MOVED] + len(state.jobs) > len(state.moved):
        header[k.LACKS] = k.TRACE
        return served.NO_ROOM
    served_ps = _served_ps(state)
    while k.LACKING < served_ps <= min(until_ps, _end_ps(state)):
        if not _retire(state, served_ps):
            return served.NO_ROOM
        served_ps = _served_ps(state)
    if served_ps == k.LACKING:
        return served.NO_ROOM
    count = _collect(state, until_ps)
    header[NOW_PS] = state.completions[0, served.TIME_PS] if count else until_ps
    header[served.NEXT_PS] = min(_end_ps(state), served_ps)
    return count


@njit
def _catch_up(state: FastState, at_ps: int) -> bool:
    """Share out the time up to ``at_ps``; whether all is known that this takes."""
    served_ps = _served_ps(state)
    while k.LACKING < served_ps <= at_ps:
        if not _retire(state, served_ps):
            return False
        served_ps = _served_ps(state)
    return served_ps != k.LACKING and _progress(state, at_ps)


@njit
def _begin(state: FastState, row: int, at_ps: int) -> bool:
    """Make a transfer under way of a request; whether all is known that this takes, and there is room."""
    header = state.header
    slot = header[k.FREE]
    if slot == NONE:
        header[k.LACKS] = k.SLOTS
        return False
    number = kind_of(state, word_at(row + 8 * served.WHAT), word_at(row + 8 * served.WHERE))
    if number == NONE:
        return False
    kind, job = state.kinds[number], state.jobs[slot]
    header[k.FREE] = job[k.JOB_NEXT]
    header[k.SUBMITTED] += 1
    if header[k.FIRST_PS] == NONE:
        header[k.FIRST_PS] = at_ps
    job[k.JOB_ORDER], job[k.JOB_KIND], job[k.JOB_START_PS] = header[k.SUBMITTED], number, at_ps
    job[k.JOB_TICKET], job[k.JOB_LAYER] = word_at(row + 8 * served.TICKET), word_at(row + 8 * served.LAYER)
    job[k.JOB_ASKED_PS] = _asked_ps(kind, at_ps)
    if kind[k.KIND_PATTERN] == NONE:
        job[k.JOB_START_PS] = _edge_after(state, at_ps + 1)
        _end(state, slot, job[k.JOB_START_PS])
    else:
        job[k.JOB_KEY] = header[k.WORK] + kind[k.KIND_WORK]
        crowds.join(state, number)
        insert(state.header, state.jobs, k.SERVED, slot)
    return True


@njit
def _asked_ps(kind: Any, at_ps: int) -> int:
    """When the engine asks for the last row, if it never waits for one; 0 without rows."""
    hz = kind[k.KIND_HZ]
    if hz == 0:
        return 0
    return int(scaled(scaled(at_ps, hz, PS_PER_S, True) + kind[k.KIND_CYCLES], PS_PER_S, hz, False))


@njit
def _progress(state: FastState, to_ps: int) -> bool:
    """Share out the time up to ``to_ps``, in which nobody comes or goes; whether it is known what that brings."""
    header = state.header
    time_ps = to_ps - header[k.REACHED_PS]
    if header[k.SERVED] != NONE and time_ps > 0:
        work, rest = _times(state, k.FORWARD, time_ps)
        if rest == k.LACKING:
            return False
        header[k.UNDER_WAY_PS] += time_ps
        header[k.WORK] += work
        if header[k.WORK] >= k.MOST_WORK:
            _begin_anew(state)
    header[k.REACHED_PS] = to_ps
    return True


@njit
def _begin_anew(state: FastState) -> None:
    """Count the work from 0 again: it is never asked for but beside that at which transfers are through."""
    slot = state.header[k.SERVED]
    while slot != NONE:
        state.jobs[slot, k.JOB_KEY] -= state.header[k.WORK]
        slot = state.jobs[slot, k.JOB_NEXT]
    state.header[k.WORK] = 0


@njit
def _served_ps(state: FastState) -> int:
    """When the next transfer is through; NEVER where none is under way, LACKING where that is not known."""
    header = state.header
    slot = header[k.SERVED]
    if slot == NONE:
        return NEVER
    left = state.jobs[slot, k.JOB_KEY] - header[k.WORK]
    if left <= 0:
        return int(header[k.REACHED_PS])
    time_ps, rest = _times(state, k.INVERSE, left)
    return int(header[k.REACHED_PS] + time_ps + rest) if rest != k.LACKING else k.LACKING


@njit
def _times(state: FastState, side: int, a: int) -> tuple[int, int]:
    """The floor of a number times the rate of the present crowd, and 1 where there is a rest; LACKING for that where
    Python is to be asked: the rate is not known, or what it gives."""
    rate = crowds.pace(state)
    if rate == NONE:
        return 0, k.LACKING
    floor, rest = floor_of(state.rates, rate, side, a)
    if rest == k.LACKING:
        header = state.header
        at = k.ANSWERS + (k.ANSWER_WIDTH if side == k.INVERSE else 0)
        if header[at + k.ANSWER_RATE] == rate and header[at + k.ANSWER_OF] == a:
            return int(header[at + k.ANSWER_FLOOR]), int(header[at + k.ANSWER_REST])
        header[k.LACKS], header[k.DIVIDED], header[k.DIVIDED_SIDE] = k.DIVISIONS, a, side
    return floor, rest


@njit
def _retire(state: FastState, now_ps: int) -> bool:
    """The first transfer is through; whether it is known what has been done until now."""
    if not _progress(state, now_ps):
        return False
    header = state.header
    slot = take_first(state.header, state.jobs, k.SERVED)
    job = state.jobs[slot]
    header[k.WORK] = max(header[k.WORK], job[k.JOB_KEY])
    kind = job[k.JOB_KIND]
    crowds.leave(state, kind)
    _end(state, slot, now_ps + header[k.READ_LATENCY + state.kinds[kind, k.KIND_WRITE]])
    return True


@njit
def _end(state: FastState, slot: int, time_ps: int) -> None:
    """A transfer ends at the first edge at or after ``time_ps``."""
    header, job = state.header, state.jobs[slot]
    kind = state.kinds[job[k.JOB_KIND]]
    job[k.JOB_KEY] = _edge_after(state, time_ps)
    latency_ps = header[k.READ_LATENCY + kind[k.KIND_WRITE]]
    job[k.JOB_START_PS] = min(job[k.JOB_KEY], job[k.JOB_START_PS] + latency_ps)
    insert(state.header, state.jobs, k.ENDING, slot)
    header[k.READS + kind[k.KIND_WRITE]] += kind[k.KIND_PIN_BYTES] // header[k.BURST_BYTES]
    header[USEFUL_READ + kind[k.KIND_WRITE]] += kind[k.KIND_USEFUL]
    for n in range(4):  # hits, misses, conflicts, activates
        header[k.ROW_HITS + n] += kind[k.KIND_HITS + n]
    header[k.BUSY_PS] += kind[k.KIND_BUS_PS]


@njit
def _edge_after(state: FastState, time_ps: int) -> int:
    hz = state.header[k.CLOCK_HZ]
    return int(scaled(scaled(time_ps, hz, PS_PER_S, True), PS_PER_S, hz, False))


@njit
def _end_ps(state: FastState) -> int:
    """When the first of those that are through ends; NEVER where there is none."""
    slot = state.header[k.ENDING]
    return int(state.jobs[slot, k.JOB_KEY]) if slot != NONE else NEVER


@njit
def _collect(state: FastState, until_ps: int) -> int:
    """Write the completions of the first instant up to ``until_ps`` that has some; how many."""
    header, count = state.header, 0
    instant = _end_ps(state)
    while instant <= until_ps and _end_ps(state) == instant:
        slot = take_first(state.header, state.jobs, k.ENDING)
        job, row = state.jobs[slot], state.completions[count]
        kind = state.kinds[job[k.JOB_KIND]]
        row[0], row[1], row[2] = job[k.JOB_TICKET], instant, job[k.JOB_START_PS]
        for n in range(7):  # from whether it writes to what it opened
            row[3 + n] = kind[k.KIND_WRITE + n]
        row[10] = job[k.JOB_ASKED_PS]
        if job[k.JOB_LAYER] != NONE:
            charge(state, job[k.JOB_LAYER], row)
        job[k.JOB_NEXT], header[k.FREE] = header[k.FREE], slot
        count += 1
    return count
