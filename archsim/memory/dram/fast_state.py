"""Building and growing the arrays of the fast DRAM model."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from archsim.base import served
from archsim.base.arrays import IntArray
from archsim.facts.dram.device import DramMemory
from archsim.memory.dram.compiled import fast_records as k
from archsim.memory.dram.compiled.fast_rates import rate_row
from archsim.memory.dram.compiled.fast_records import FastState
from archsim.memory.dram.compiled.records import CHARGES, MOVED, MOVED_WIDTH, NONE
from archsim.memory.dram.state import padded

FIRST_SLOTS = 16  # transfers under way before the arrays first grow
FIRST_ROWS = 64  # of all that is found out
FIRST_WORDS = 1024
FIRST_MOVED = 1024


def initial(dram: DramMemory, latency_ps: Sequence[int]) -> FastState:
    """The arrays of an idle memory at time 0. ``latency_ps``: of reads and of writes."""
    header = np.zeros(k.HEADER, np.int64)
    header[served.NEXT_PS] = served.NEVER
    header[k.BURST_BYTES], header[k.CAPACITY] = dram.device.burst_bytes, dram.capacity_bytes
    header[k.CLOCK_HZ] = dram.device.clock_hz
    header[k.READ_LATENCY], header[k.WRITE_LATENCY] = latency_ps
    header[[k.FIRST_PS, k.SERVED, k.LAST_SERVED, k.ENDING, k.LAST_ENDING, k.PACE]] = NONE
    header[[k.ANSWERS + k.ANSWER_RATE, k.ANSWERS + k.ANSWER_WIDTH + k.ANSWER_RATE]] = NONE
    return FastState(
        header=header,
        completions=_rows(FIRST_SLOTS, served.COMPLETION_WIDTH),
        jobs=_free(0, FIRST_SLOTS, NONE),
        present=_rows(FIRST_SLOTS, 2),
        shapes=_rows(FIRST_ROWS, k.SHAPE_WIDTH),
        kinds=_rows(FIRST_ROWS, k.KIND_WIDTH),
        kind_table=np.full(4 * FIRST_ROWS, NONE, np.int64),
        listed=np.full(FIRST_ROWS, NONE, np.int64),
        crowds=_rows(FIRST_ROWS, k.CROWD_WIDTH),
        crowd_table=np.full(4 * FIRST_ROWS, NONE, np.int64),
        words=np.zeros(FIRST_WORDS, np.int64),
        rates=_rows(FIRST_ROWS, k.RATE_WIDTH),
        ends=np.zeros(k.REMEMBERED, np.int64),
        askers=_rows(FIRST_ROWS, k.ASKER_WIDTH),
        groups=np.zeros(2, np.int64),
        charged=_rows(0, CHARGES),
        moved=_rows(0, MOVED_WIDTH),
    )


def with_slots(state: FastState) -> FastState:
    """The same state with twice the slots for transfers."""
    slots = len(state.jobs)
    jobs = np.concatenate([state.jobs, _free(slots, slots, int(state.header[k.FREE]))])
    state.header[k.FREE] = slots
    return state._replace(completions=padded(state.completions, slots), jobs=jobs, present=padded(state.present, slots))


def with_trace(state: FastState) -> FastState:
    """The same state with room on the trace."""
    lacking = len(state.jobs) + int(state.header[MOVED]) - len(state.moved)
    return state._replace(moved=padded(state.moved, max(lacking, len(state.moved), FIRST_MOVED)))


def with_shape(state: FastState, number: int, row: Sequence[int]) -> FastState:
    """The same state with one more shape."""
    state = state._replace(shapes=_with_room(state.shapes, number))
    state.shapes[number] = row
    return state


def with_asker(state: FastState, number: int, group: int) -> FastState:
    """The same state with one more asker, of this group."""
    state = state._replace(askers=_with_room(state.askers, number), groups=_with_room(state.groups, group))
    state.askers[number] = 0, group
    return state


def with_kind(state: FastState, number: int, row: Sequence[int]) -> FastState:
    """The same state with one more kind."""
    state = state._replace(kinds=_with_room(state.kinds, number))
    state.kinds[number] = row
    return state._replace(kind_table=_inserted(state.kind_table, state.kinds[:, k.KIND_HASH], number))


def with_list(state: FastState, number: int) -> FastState:
    """The same state with one more list, of which the kind is not known yet."""
    more = number + 1 - len(state.listed)
    if more > 0:
        state = state._replace(listed=padded(state.listed, max(more, len(state.listed))))
    state.listed[number] = NONE
    return state


def with_crowd(state: FastState, number: int, at: int, words: Sequence[int], pace: Fraction) -> FastState:
    """The same state with one more crowd, whose ``words`` begin ``at`` so many, and its pace."""
    more = at + len(words) - len(state.words)
    if more > 0:
        state = state._replace(words=padded(state.words, max(more, len(state.words))))
    state = state._replace(crowds=_with_room(state.crowds, number), rates=_with_room(state.rates, number))
    state.words[at : at + len(words)] = words
    state.crowds[number] = int(state.header[k.LACK_HASH]), at
    state.rates[number] = rate_row(pace)
    return state._replace(crowd_table=_inserted(state.crowd_table, state.crowds[:, k.CROWD_HASH], number))


def ends(state: FastState) -> list[int]:
    """Where the last contiguous transfers ended, oldest first."""
    first, count = int(state.header[k.ENDS_FIRST]), int(state.header[k.ENDS_COUNT])
    return [int(state.ends[(first + n) % k.REMEMBERED]) for n in range(count)]


def _inserted(table: IntArray, hashes: IntArray, number: int) -> IntArray:
    """A table of numbers by hash, in which all below ``number`` are, with this one: at most half of it is used."""
    numbers = [number]
    if 2 * number >= len(table):
        table, numbers = np.full(2 * len(table), NONE, np.int64), [*range(number + 1)]
    for each in numbers:
        place = int(hashes[each]) & len(table) - 1
        while table[place] != NONE:
            place = place + 1 & len(table) - 1
        table[place] = each
    return table


def _free(first: int, count: int, behind: int) -> IntArray:
    """Free slots, each of which names the next one; the last one that ``behind`` them."""
    jobs = _rows(count, k.JOB_WIDTH)
    jobs[:, k.JOB_NEXT] = [*range(first + 1, first + count), behind]
    return jobs


def _rows(count: int, width: int) -> IntArray:
    return np.zeros((count, width), np.int64)


def _with_room(table: Any, number: int) -> Any:
    """A table with room for row ``number``."""
    return table if number < len(table) else padded(table, len(table))
