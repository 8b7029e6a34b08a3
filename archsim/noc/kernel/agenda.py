"""Turns to come, in order of time and, of one cycle, in the order in which they became known.

Those of the next SPAN cycles stand in a list for each cycle, later ones in a heap, from which they move into the lists
as time goes on: before anything else can be put there, so that each list is in order.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.kernel.bits import lowest
from archsim.noc.kernel.heap import pop, push
from archsim.noc.kernel.layout import INDEX, NEVER
from archsim.noc.kernel.reservations import BASE, LATE, NUMBER_BITS, ORDER, SPAN, TURNS, WORD_BITS, WORDS


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
