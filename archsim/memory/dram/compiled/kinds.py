"""Which kind a transfer of the fast DRAM model is: by its shape, its place in a burst, and whether it goes on where
another one ended. Kinds that were not met before are asked of Python; so is each list of rows, in its turn, for the
first one of several that are alike stands for all.
"""

from __future__ import annotations

from archsim.base.jit import njit
from archsim.memory.dram.compiled import fast_records as k
from archsim.memory.dram.compiled.fast_records import FastState
from archsim.memory.dram.compiled.records import LISTED, NONE, OUTSIDE


@njit
def kind_of(state: FastState, what: int, where: int) -> int:
    """The kind of a request, a shape and its address or a list; NONE where it is to be asked for, or not allowed."""
    header = state.header
    if what == LISTED:
        if state.listed[where] == NONE:
            header[k.LACKS], header[k.LACK_WHAT] = k.LISTS, where
        return int(state.listed[where])
    shape = state.shapes[what]
    useful = shape[k.SHAPE_USEFUL]
    if useful and (where < shape[k.SHAPE_BELOW] or where + shape[k.SHAPE_ABOVE] > header[k.CAPACITY]):
        header[OUTSIDE] = 1
        return NONE
    offset = where % header[k.BURST_BYTES] if useful else 0
    found = _found(state, what, offset, int(useful > 0 and _is_end(state, where)))
    if found != NONE and shape[k.SHAPE_RUN] != NONE:
        _remember(state, where + shape[k.SHAPE_RUN])
    return found


@njit
def _found(state: FastState, shape: int, offset: int, follows: int) -> int:
    hashed = ((shape * k.HASH) ^ offset) * k.HASH ^ follows
    hashed = int(hashed ^ (hashed >> 32))
    kinds, mask = state.kinds, state.kind_table.size - 1
    place = hashed & mask
    while state.kind_table[place] != NONE:
        kind = state.kind_table[place]
        is_of_place = kinds[kind, k.KIND_OFFSET] == offset and kinds[kind, k.KIND_FOLLOWS] == follows
        if is_of_place and kinds[kind, k.KIND_SHAPE] == shape:
            return int(kind)
        place = (place + 1) & mask
    header = state.header
    header[k.LACKS], header[k.LACK_HASH] = k.KINDS, hashed
    header[k.LACK_WHAT], header[k.LACK_OFFSET], header[k.LACK_FOLLOWS] = shape, offset, follows
    return NONE


@njit
def _is_end(state: FastState, address: int) -> bool:
    """Whether one of the last contiguous transfers ends there."""
    found = False
    for place in range(state.header[k.ENDS_COUNT]):
        found |= state.ends[place] == address
    return found


@njit
def _remember(state: FastState, address: int) -> None:
    """A contiguous transfer ends there; the oldest end is forgotten where there are too many."""
    header = state.header
    if _is_end(state, address):
        return
    if header[k.ENDS_COUNT] < k.REMEMBERED:
        state.ends[header[k.ENDS_COUNT]] = address
        header[k.ENDS_COUNT] += 1
    else:
        state.ends[header[k.ENDS_FIRST]] = address
        header[k.ENDS_FIRST] = (header[k.ENDS_FIRST] + 1) % k.REMEMBERED
