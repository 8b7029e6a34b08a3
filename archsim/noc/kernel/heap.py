"""A heap of times and what happens then, in two arrays whose size the caller keeps."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit


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
