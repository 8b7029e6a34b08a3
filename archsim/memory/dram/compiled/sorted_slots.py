"""Transfers under way in sorted lists: each slot of a table names the next one and the one before.

A table's first columns are those here. The header of its model says of each list the first slot and, behind that, the
last one, NONE where it is empty. Of equal keys, the one that was submitted first is first.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import njit
from archsim.memory.dram.compiled.records import NONE

SLOT_NEXT, SLOT_BEFORE, SLOT_KEY, SLOT_ORDER = range(4)


@njit
def insert(header: Any, jobs: Any, first: int, slot: int) -> None:
    """Put a slot into the list of which the header says the first one at ``first``; it comes near to its end mostly."""
    before, after = header[first + 1], NONE
    while before != NONE and _is_before(jobs, slot, before):
        before, after = jobs[before, SLOT_BEFORE], before
    jobs[slot, SLOT_BEFORE], jobs[slot, SLOT_NEXT] = before, after
    if before == NONE:
        header[first] = slot
    else:
        jobs[before, SLOT_NEXT] = slot
    if after == NONE:
        header[first + 1] = slot
    else:
        jobs[after, SLOT_BEFORE] = slot


@njit
def _is_before(jobs: Any, one: int, other: int) -> bool:
    if jobs[one, SLOT_KEY] != jobs[other, SLOT_KEY]:
        return bool(jobs[one, SLOT_KEY] < jobs[other, SLOT_KEY])
    return bool(jobs[one, SLOT_ORDER] < jobs[other, SLOT_ORDER])


@njit
def take_first(header: Any, jobs: Any, first: int) -> int:
    """Take the first slot out of a list."""
    slot = header[first]
    after = jobs[slot, SLOT_NEXT]
    header[first] = after
    if after == NONE:
        header[first + 1] = NONE
    else:
        jobs[after, SLOT_BEFORE] = NONE
    return int(slot)
