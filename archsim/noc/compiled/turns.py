"""The turns to come of a network as reservations, cycle by cycle, each in a record of its own.

Turns of the next SPAN cycles stand in a list for each cycle, later ones in a heap, which is two arrays whose size the
caller keeps. They move from there into the lists as time goes on: before anything else can be put there, so that each
list is in order.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.compiled.bits import lowest
from archsim.noc.compiled.records import (
    BASE,
    FREE,
    INDEX,
    LATE,
    NEVER,
    NONE,
    NUMBER_BITS,
    ORDER,
    SPAN,
    TURNS,
    WORD_BITS,
    WORDS,
)


@njit
def push(times: Any, entries: Any, size: int, time: int, entry: int) -> int:
    """Add an entry; the new size. Equal times go by the entries."""
    place = size
    while place:
        above = (place - 1) // 2
        if not _before(time, entry, times[above], entries[above]):
            break
        times[place], entries[place] = times[above], entries[above]
        place = above
    times[place], entries[place] = time, entry
    return size + 1


@njit
def pop(times: Any, entries: Any, size: int) -> int:
    """Take away the first entry, which the caller has read; the new size."""
    size -= 1
    time, entry = times[size], entries[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(times[child + 1], entries[child + 1], times[child], entries[child]):
            child += 1
        if not _before(times[child], entries[child], time, entry):
            break
        times[place], entries[place] = times[child], entries[child]
        place = child
    times[place], entries[place] = time, entry
    return size


@inlined
def _before(time: int, entry: int, other_time: int, other_entry: int) -> bool:
    sooner: bool = time < other_time or (time == other_time and entry < other_entry)
    return sooner


@inlined
def put(state: Any, time: int, place: int) -> None:
    """The turn of record ``place`` is to come at ``time``, which is not before the cycle that is run."""
    sizes = state.sizes
    sizes[ORDER] += 1
    sizes[TURNS] += 1
    if time < sizes[BASE] + SPAN:
        _list(state, time, place)
    else:
        entry = sizes[ORDER] << NUMBER_BITS | place
        sizes[LATE] = push(state.late_times, state.late_entries, sizes[LATE], time, entry)


@inlined
def first_time(state: Any) -> int:
    """Of the first turn, NEVER if there is none."""
    base, listed = state.sizes[BASE], state.listed
    first = base & (SPAN - 1)
    word, low = first >> WORD_BITS, first & ((1 << WORD_BITS) - 1)
    members = listed[INDEX(word)] >> low << low
    for _ in range(WORDS):
        if members:
            break
        word = (word + 1) & (WORDS - 1)
        members = listed[INDEX(word)]
    if members:
        found: int = base + (((word << WORD_BITS) + lowest(members) - first) & (SPAN - 1))
        return found
    late: int = state.late_times[0] if state.sizes[LATE] else NEVER
    return late


@inlined
def has_turn(state: Any, now: int) -> bool:
    """Whether there is a turn of cycle ``now``, which is the first that is still to be run."""
    cycle = now & (SPAN - 1)
    found: bool = state.listed[INDEX(cycle >> WORD_BITS)] >> (cycle & ((1 << WORD_BITS) - 1)) & 1 != 0
    return found


@njit
def move_on(state: Any, now: int) -> None:
    """Cycle ``now`` is the first that is still to be run."""
    sizes = state.sizes
    sizes[BASE] = now
    while sizes[LATE] and state.late_times[0] < now + SPAN:
        time, entry = state.late_times[0], state.late_entries[0]
        sizes[LATE] = pop(state.late_times, state.late_entries, sizes[LATE])
        _list(state, time, entry & ((1 << NUMBER_BITS) - 1))


@inlined
def take(state: Any, now: int) -> int:
    """The record of the first turn, which is of ``now``."""
    state.sizes[TURNS] -= 1
    cycle = now & (SPAN - 1)
    lane = state.lanes[INDEX(cycle)]
    place: int = INDEX(lane.first)
    if lane.first == lane.last:
        state.listed[INDEX(cycle >> WORD_BITS)] &= ~(1 << (cycle & ((1 << WORD_BITS) - 1)))
    else:
        lane.first = state.turns[place].next
    return place


@inlined
def _list(state: Any, time: int, place: int) -> None:
    cycle = time & (SPAN - 1)
    word, bit = INDEX(cycle >> WORD_BITS), cycle & ((1 << WORD_BITS) - 1)
    lane = state.lanes[INDEX(cycle)]
    if state.listed[word] >> bit & 1:
        state.turns[lane.last].next = place
    else:
        state.listed[word] |= 1 << bit
        lane.first = place
    lane.last = place


@inlined
def add(state: Any, time: int, message: int, flits: int, at: int) -> Any:
    """A turn in a record of its own, which is returned."""
    sizes = state.sizes
    place = INDEX(sizes[FREE])
    turn = state.turns[place]
    sizes[FREE] = turn.next
    turn.message, turn.flits, turn.at, turn.lag, turn.spread, turn.waited = message, flits, at, 0, 0, 0
    turn.number = sizes[ORDER]
    put(state, time, place)
    return turn


@inlined
def drop(state: Any, place: int) -> None:
    """The record of a turn that has been taken is unused."""
    turn = state.turns[place]
    turn.number = NONE
    turn.next = state.sizes[FREE]
    state.sizes[FREE] = place


@inlined
def is_full(state: Any) -> bool:
    """Whether an event might make more turns than there are records left."""
    rules = state.rules[0]
    found: bool = state.sizes[TURNS] + rules.ports + rules.nodes >= state.turns.size
    return found
