"""The constant-rate memory beside the event loop: one port, first come first served (``memory.dram.constant``).

Transfers that have had their turn on the port are sorted by their ends, lists of rows by when they ask for their next
one. Time on the port is exact: whole picoseconds and parts of one.
"""

from __future__ import annotations

from typing import Any

from archsim.base import served
from archsim.base.addressed import value_at, word_at
from archsim.base.jit import addressed, njit
from archsim.base.units import PS_PER_S
from archsim.memory.dram.compiled import constant_records as k
from archsim.memory.dram.compiled.charges import charge
from archsim.memory.dram.compiled.clock import scaled
from archsim.memory.dram.compiled.constant_records import ConstantState
from archsim.memory.dram.compiled.records import LISTED, MOVED, NEVER, NONE, NOW_PS, TRACES, USEFUL_READ
from archsim.memory.dram.compiled.sorted_slots import insert, take_first
from archsim.memory.dram.compiled.stretches import give

_LAST_S = NEVER // PS_PER_S  # what is later is never


@addressed
@njit
def submit(kind: Any, table: int, at_ps: int, rows: int, count: int) -> int:
    """Take the requests of an instant; how many of them, fewer where Python has to make room before."""
    state = value_at(kind, table)
    taken = 0
    if _ask(state, at_ps):
        while taken < count and _begin(state, rows + 8 * taken * served.REQUEST_WIDTH, at_ps):
            taken += 1
    state.header[served.NEXT_PS] = min(_first_ps(state, k.ENDING), _first_ps(state, k.ASKING))
    return taken


@addressed
@njit
def advance(kind: Any, table: int, until_ps: int, _: int, __: int) -> int:
    """Run to the first instant up to ``until_ps`` with completions; how many, or that Python has to make room first."""
    state = value_at(kind, table)
    header = state.header
    if header[TRACES] and header[MOVED] + len(state.jobs) > len(state.moved):
        header[k.LACKS] = k.TRACE
        return served.NO_ROOM
    while header[k.ASKING] != NONE and _first_ps(state, k.ASKING) <= min(until_ps, _first_ps(state, k.ENDING)):
        if not _ask(state, _first_ps(state, k.ASKING)):
            return served.NO_ROOM
    instant, count = _first_ps(state, k.ENDING), 0
    if instant <= until_ps:
        while header[k.ENDING] != NONE and _first_ps(state, k.ENDING) == instant:
            _complete(state, state.completions[count])
            count += 1
    header[NOW_PS] = instant if count else until_ps
    header[served.NEXT_PS] = min(_first_ps(state, k.ENDING), _first_ps(state, k.ASKING))
    return count


@njit
def _first_ps(state: ConstantState, first: int) -> int:
    """The time of the first transfer of a list; NEVER where it is empty."""
    slot = state.header[first]
    return int(state.jobs[slot, k.JOB_KEY]) if slot != NONE else NEVER


@njit
def _begin(state: ConstantState, row: int, at_ps: int) -> bool:
    """Make a transfer under way of a request; whether there is room for it."""
    header = state.header
    slot = header[k.FREE_SLOT]
    if slot == NONE:
        header[k.LACKS] = k.SLOTS
        return False
    job = state.jobs[slot]
    header[k.FREE_SLOT] = job[k.JOB_NEXT]
    job[k.JOB_TICKET], job[k.JOB_LAYER] = word_at(row + 8 * served.TICKET), word_at(row + 8 * served.LAYER)
    job[k.JOB_ORDER] = header[k.SUBMITTED]
    header[k.SUBMITTED] += 1
    what = word_at(row + 8 * served.WHAT)
    if what == LISTED:
        return _begin_list(state, slot, word_at(row + 8 * served.WHERE), at_ps)
    shape = state.shapes[what]
    job[k.JOB_ASKED_PS] = 0
    if not _count(header, job, shape[k.SHAPE_WRITE], shape[k.SHAPE_USEFUL]):
        return False
    start_ps = end_ps = at_ps
    if shape[k.SHAPE_USEFUL]:
        start_ps, end_ps = _on_port(header, at_ps, shape[k.SHAPE_PS], shape[k.SHAPE_PARTS])
    job[k.JOB_FIRST_PS] = start_ps + header[k.LATENCY_PS]
    return _wait(state, k.ENDING, slot, end_ps + header[k.LATENCY_PS])


@njit
def _count(header: Any, job: Any, write: int, useful: int) -> bool:
    """Count the bytes of a transfer; whether all bytes so far can be counted."""
    job[k.JOB_WRITE], job[k.JOB_USEFUL] = write, useful
    header[k.SUBMITTED_BYTES] += useful
    if header[k.SUBMITTED_BYTES] >= NEVER:
        header[k.LACKS] = k.BYTES
        return False
    return True


@njit
def _on_port(header: Any, at_ps: int, time_ps: int, parts: int) -> tuple[int, int]:
    """From when to when bytes are on the port, which they take as soon as it is free: both rounded up."""
    if header[k.FREE_PS] < at_ps:
        header[k.FREE_PS], header[k.FREE_PARTS] = at_ps, 0
    start_ps = header[k.FREE_PS] + (header[k.FREE_PARTS] > 0)
    _add(header, k.BUSY_PS, time_ps, parts)
    _add(header, k.FREE_PS, time_ps, parts)
    return start_ps, header[k.FREE_PS] + (header[k.FREE_PARTS] > 0)


@njit
def _add(header: Any, at: int, time_ps: int, parts: int) -> None:
    """Add to a time on the port."""
    parts += header[at + 1]
    carry = int(parts >= header[k.PARTS])
    header[at] += time_ps + carry
    header[at + 1] = parts - carry * header[k.PARTS]


@njit
def _wait(state: ConstantState, first: int, slot: int, time_ps: int) -> bool:
    """Put a transfer into a list at a time; whether there is such a time."""
    if not 0 <= time_ps < NEVER:
        state.header[k.LACKS] = k.TIME
        return False
    state.jobs[slot, k.JOB_KEY] = time_ps
    insert(state.header, state.jobs, first, slot)
    return True


@njit
def _complete(state: ConstantState, row: Any) -> None:
    """Write the completion of the first transfer to end, whose slot is free again."""
    header = state.header
    slot = take_first(header, state.jobs, k.ENDING)
    job = state.jobs[slot]
    row[0], row[1], row[2] = job[k.JOB_TICKET], job[k.JOB_KEY], job[k.JOB_FIRST_PS]
    row[3], row[4], row[5] = job[k.JOB_WRITE], job[k.JOB_USEFUL], job[k.JOB_USEFUL]
    row[10] = job[k.JOB_ASKED_PS]  # between them are rows, of which it has none
    header[k.READS + job[k.JOB_WRITE]] += 1
    header[USEFUL_READ + job[k.JOB_WRITE]] += job[k.JOB_USEFUL]
    if job[k.JOB_LAYER] != NONE:
        charge(state, job[k.JOB_LAYER], row)
    job[k.JOB_NEXT], header[k.FREE_SLOT] = header[k.FREE_SLOT], slot


# ---- lists of rows


@njit
def _begin_list(state: ConstantState, slot: int, at: int, at_ps: int) -> bool:
    """Let a list ask for its first row, and serve what is asked for now; whether its times can be told."""
    job, words = state.jobs[slot], state.words
    job[k.JOB_LIST], job[k.JOB_ROW], job[k.JOB_LAST_PS], job[k.JOB_FIRST_PS] = at, 0, 0, NONE
    if not _count(state.header, job, words[at + k.LIST_WRITE], words[at + k.LIST_USEFUL]):
        return False
    return _wait(state, k.ASKING, slot, _next_ask_ps(words, job, at_ps)) and _ask(state, at_ps)


@njit
def _next_ask_ps(words: Any, job: Any, asked_ps: int) -> int:
    """When the engine asks for the next row of a list, of which the one before was asked for at ``asked_ps``."""
    at, row = job[k.JOB_LIST], job[k.JOB_ROW]
    hz, oldest = words[at + k.LIST_HZ], row - words[at + k.LIST_MOST]
    edge = scaled(asked_ps, hz, PS_PER_S, True) + words[at + k.LIST_SETUP]
    if oldest >= 0:
        end_ps = words[at + k.LIST_WIDTH + k.ROW_WIDTH * oldest + k.ROW_END_PS]
        edge = max(edge, scaled(end_ps, hz, PS_PER_S, True))
    return int(scaled(edge, PS_PER_S, hz, False)) if edge // hz < _LAST_S else NEVER


@njit
def _ask(state: ConstantState, until_ps: int) -> bool:
    """Serve the rows that are asked for up to ``until_ps``; whether all of their times can be told."""
    header = state.header
    while header[k.ASKING] != NONE and _first_ps(state, k.ASKING) <= until_ps:
        if not _serve_row(state, take_first(header, state.jobs, k.ASKING)):
            return False
    return True


@njit
def _serve_row(state: ConstantState, slot: int) -> bool:
    """Serve the next row of a list, which is asked for now; whether there is a time for what comes then."""
    job, words, latency_ps = state.jobs[slot], state.words, state.header[k.LATENCY_PS]
    asked_ps = end_ps = job[k.JOB_KEY]
    row = job[k.JOB_LIST] + k.LIST_WIDTH + k.ROW_WIDTH * job[k.JOB_ROW]
    if words[row + k.ROW_BYTES]:
        start_ps, end_ps = _on_port(state.header, asked_ps, words[row + k.ROW_PS], words[row + k.ROW_PARTS])
        end_ps += latency_ps
        if job[k.JOB_FIRST_PS] == NONE:
            job[k.JOB_FIRST_PS] = start_ps + latency_ps
    if not 0 <= end_ps < NEVER:
        state.header[k.LACKS] = k.TIME
        return False
    words[row + k.ROW_END_PS] = end_ps
    job[k.JOB_LAST_PS] = max(job[k.JOB_LAST_PS], end_ps)
    job[k.JOB_ROW] += 1
    if job[k.JOB_ROW] < words[job[k.JOB_LIST] + k.LIST_ROWS]:
        return _wait(state, k.ASKING, slot, _next_ask_ps(words, job, asked_ps))
    job[k.JOB_ASKED_PS] = asked_ps
    if job[k.JOB_FIRST_PS] == NONE:
        job[k.JOB_FIRST_PS] = job[k.JOB_LAST_PS]
    first = job[k.JOB_LIST]
    give(state.header[k.FREE_WORDS :], words, first, words[first + k.LIST_WORDS])
    return _wait(state, k.ENDING, slot, job[k.JOB_LAST_PS])
