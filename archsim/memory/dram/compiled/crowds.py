"""Who is under way in the fast DRAM model: transfers by pattern and by asker, and the rate of such a crowd.

Transfers of one asker come one after the other, for it keeps their order: of a group of askers, the engines or the
ports, so many are under way at a time as have no other one of their asker before them.
"""

from __future__ import annotations

from archsim.base.jit import njit
from archsim.memory.dram.compiled.fast_records import (
    ASKER_COUNT,
    ASKER_GROUP,
    CROWD_AT,
    CROWD_HASH,
    CROWDS,
    HASH,
    KIND_ASKER,
    KIND_ASKER_2,
    KIND_PATTERN,
    LACK_HASH,
    LACKS,
    PACE,
    PRESENT,
    TOGETHER,
    TOTAL,
    FastState,
)
from archsim.memory.dram.compiled.records import NONE


@njit
def join(state: FastState, kind: int) -> None:
    """A transfer of a kind comes."""
    header, present, pattern = state.header, state.present, state.kinds[kind, KIND_PATTERN]
    place = header[PRESENT]
    while place > 0 and present[place - 1, 0] >= pattern:
        place -= 1
    if place == header[PRESENT] or present[place, 0] != pattern:
        for other in range(header[PRESENT], place, -1):
            present[other, 0], present[other, 1] = present[other - 1, 0], present[other - 1, 1]
        present[place, 0], present[place, 1] = pattern, 0
        header[PRESENT] += 1
    present[place, 1] += 1
    for column in range(KIND_ASKER, KIND_ASKER_2 + 1):
        asker = state.kinds[kind, column]
        if asker != NONE:
            state.groups[state.askers[asker, ASKER_GROUP]] += state.askers[asker, ASKER_COUNT] > 0
            state.askers[asker, ASKER_COUNT] += 1
    header[TOTAL] += 1
    header[PACE] = NONE


@njit
def leave(state: FastState, kind: int) -> None:
    """A transfer of a kind is through."""
    header, present, pattern = state.header, state.present, state.kinds[kind, KIND_PATTERN]
    place = 0
    while present[place, 0] != pattern:
        place += 1
    present[place, 1] -= 1
    if present[place, 1] == 0:
        header[PRESENT] -= 1
        for other in range(place, header[PRESENT]):
            present[other, 0], present[other, 1] = present[other + 1, 0], present[other + 1, 1]
    for column in range(KIND_ASKER, KIND_ASKER_2 + 1):
        asker = state.kinds[kind, column]
        if asker != NONE:
            state.askers[asker, ASKER_COUNT] -= 1
            state.groups[state.askers[asker, ASKER_GROUP]] -= state.askers[asker, ASKER_COUNT] > 0
    header[TOTAL] -= 1
    header[PACE] = NONE


@njit
def pace(state: FastState) -> int:
    """The number of the present crowd, and of its rate; NONE where it has not been met before."""
    header = state.header
    if header[PACE] == NONE:
        behind = 0
        for group in range(state.groups.size):
            behind = max(behind, state.groups[group])
        header[TOGETHER] = header[TOTAL] - behind
        header[PACE] = _found(state, _hash(state))
    return int(header[PACE])


@njit
def _hash(state: FastState) -> int:
    found = HASH * (state.header[TOGETHER] + 1)
    for place in range(state.header[PRESENT]):
        found = (found ^ state.present[place, 0]) * HASH
        found = (found ^ state.present[place, 1]) * HASH
    return int(found ^ (found >> 32))


@njit
def _found(state: FastState, hashed: int) -> int:
    """The crowd of this hash that is the present one; where there is none, Python is to be asked for it."""
    mask = state.crowd_table.size - 1
    place = hashed & mask
    while state.crowd_table[place] != NONE:
        crowd = state.crowd_table[place]
        if state.crowds[crowd, CROWD_HASH] == hashed and _is_present(state, state.crowds[crowd, CROWD_AT]):
            return int(crowd)
        place = (place + 1) & mask
    state.header[LACKS], state.header[LACK_HASH] = CROWDS, hashed
    return NONE


@njit
def _is_present(state: FastState, at: int) -> bool:
    """Whether these words are of the present crowd."""
    words, header = state.words, state.header
    if words[at] != header[TOGETHER] or words[at + 1] != header[PRESENT]:
        return False
    for place in range(header[PRESENT]):
        one = at + 2 + 2 * place
        if words[one] != state.present[place, 0] or words[one + 1] != state.present[place, 1]:
            return False
    return True
