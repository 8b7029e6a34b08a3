"""Building and growing the arrays of the constant-rate memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from archsim.base import served
from archsim.base.arrays import IntArray
from archsim.memory.dram.compiled import constant_records as k
from archsim.memory.dram.compiled.constant_records import ConstantState
from archsim.memory.dram.compiled.records import CHARGES, MOVED, MOVED_WIDTH, NONE, SIZES
from archsim.memory.dram.state import padded

FIRST_SLOTS = 16  # transfers under way before the arrays first grow
FIRST_SHAPES = 64
FIRST_MOVED = 1024


def initial(parts: int, latency_ps: int) -> ConstantState:
    """The arrays of an idle memory at time 0. ``parts``: of a picosecond."""
    header = np.zeros(k.HEADER, np.int64)
    header[served.NEXT_PS] = served.NEVER
    header[k.PARTS], header[k.LATENCY_PS] = parts, latency_ps
    header[[k.ENDING, k.LAST_ENDING, k.ASKING, k.LAST_ASKING]] = NONE
    header[k.FREE_WORDS : k.FREE_WORDS + SIZES] = NONE
    return ConstantState(
        header=header,
        completions=np.zeros((FIRST_SLOTS, served.COMPLETION_WIDTH), np.int64),
        jobs=_free(0, FIRST_SLOTS, NONE),
        shapes=np.zeros((FIRST_SHAPES, k.SHAPE_WIDTH), np.int64),
        words=np.zeros(0, np.int64),
        charged=np.zeros((0, CHARGES), np.int64),
        moved=np.zeros((0, MOVED_WIDTH), np.int64),
    )


def with_slots(state: ConstantState) -> ConstantState:
    """The same state with twice the slots for transfers."""
    slots = len(state.jobs)
    jobs = np.concatenate([state.jobs, _free(slots, slots, int(state.header[k.FREE_SLOT]))])
    state.header[k.FREE_SLOT] = slots
    return state._replace(completions=padded(state.completions, slots), jobs=jobs)


def with_trace(state: ConstantState) -> ConstantState:
    """The same state with room on the trace."""
    lacking = len(state.jobs) + int(state.header[MOVED]) - len(state.moved)
    return state._replace(moved=padded(state.moved, max(lacking, len(state.moved), FIRST_MOVED)))


def with_shape(state: ConstantState, number: int, row: Sequence[int]) -> ConstantState:
    """The same state with one more shape."""
    if number == len(state.shapes):
        state = state._replace(shapes=padded(state.shapes, number))
    state.shapes[number] = row
    return state


def with_list(state: ConstantState, words: IntArray) -> tuple[ConstantState, int]:
    """The same state with a list that is to be submitted, and where its words begin."""
    state, first = _taken(state, len(words))
    state.words[first : first + len(words)] = words
    return state, first


def _taken(state: ConstantState, count: int) -> tuple[ConstantState, int]:
    """The same state with words that nobody has, a stretch that compiled code gives back (``compiled.stretches``)."""
    size = (count - 1).bit_length()
    free = k.FREE_WORDS + size
    first = int(state.header[free])
    if first != NONE:
        state.header[free] = state.words[first]
        return state, first
    first = int(state.header[k.USED_WORDS])
    state.header[k.USED_WORDS] = end = first + (1 << size)
    if end > len(state.words):
        state = state._replace(words=padded(state.words, max(end - len(state.words), len(state.words))))
    return state, first


def _free(first: int, count: int, behind: int) -> IntArray:
    """Free slots, each of which names the next one; the last one that ``behind`` them."""
    jobs = np.zeros((count, k.JOB_WIDTH), np.int64)
    jobs[:, k.JOB_NEXT] = [*range(first + 1, first + count), behind]
    return jobs
