"""From the row of a request to a transfer under way, and from its end to the row of a completion.

Both find their room in arrays that Python makes larger: slots, and stretches of words, each a power of two long.
"""

from __future__ import annotations

from typing import Any

from archsim.base import served
from archsim.base.addressed import value_at, word_at
from archsim.base.jit import addressed, inlined, njit
from archsim.memory.dram.compiled.bounds import meet
from archsim.memory.dram.compiled.charges import charge
from archsim.memory.dram.compiled.clock import cycle, edge
from archsim.memory.dram.compiled.intake import enlist
from archsim.memory.dram.compiled.records import (
    LISTED,
    NONE,
    OUTSIDE,
    REQUEST_WORDS,
    RUN,
    STAGED,
    USEFUL_READ,
    AddressSpread,
    DramState,
    TransferRecord,
)
from archsim.memory.dram.compiled.regions import bursts_of, rewind, seek
from archsim.memory.dram.compiled.rings import append_pending, first_completion, insert_ending
from archsim.memory.dram.compiled.stretches import give, size_of


@addressed
@njit
def submit(kind: Any, table: int, at_ps: int, rows: int, count: int) -> int:
    """Take the requests of an instant, which are visible at the first edge after it; how many of them, fewer where
    there is no room, or where the memory ends before one does."""
    state = value_at(kind, table)
    spread = state.spread[0]
    visible = cycle(spread, at_ps + 1)
    for number in range(count):
        if not _take_in(state, spread, rows + 8 * number * served.REQUEST_WIDTH, at_ps, visible):
            return number
    return count


@njit
def _take_in(state: DramState, spread: AddressSpread, row: int, at_ps: int, visible: int) -> bool:
    """Make a transfer under way of a request; whether there was room for it and it lies in the memory."""
    if spread.free_slots == 0:
        return False
    slot = state.free[spread.free_slots - 1]
    transfer, words = state.transfers[slot], state.table[slot]
    what, at = word_at(row + 8 * served.WHAT), word_at(row + 8 * served.WHERE)
    for n in range(words.size):
        words[n] = state.staged[at + n] if what == LISTED else state.shapes[what, n]
    if what != LISTED and (at < transfer.below or at + transfer.above > spread.capacity_bytes):
        state.header[OUTSIDE] = 1
        return False
    if transfer.words:
        transfer.requests = take(spread, state.words, transfer.words)
        if transfer.requests == NONE:
            return False
    if what == LISTED:
        _list(state, transfer, at + words.size)
        state.header[STAGED] -= words.size + transfer.words - REQUEST_WORDS * transfer.most
        transfer.asked_ps = at_ps
    else:
        transfer.address = at
    spread.free_slots -= 1
    transfer.place = spread.free_slots
    transfer.visible = transfer.asked_cycle = visible
    transfer.order = spread.submitted
    transfer.ticket, transfer.layer = word_at(row + 8 * served.TICKET), word_at(row + 8 * served.LAYER)
    spread.submitted += 1
    _arrive(state, spread, transfer, slot)
    meet(state, spread, transfer)
    # others may end sooner for it too: it can fill the queue of writes, which are drained then
    state.header[served.NEXT_PS] = min(state.header[served.NEXT_PS], edge(spread, visible))
    return True


@njit
def _list(state: DramState, transfer: TransferRecord, staged: int) -> None:
    """Put the runs and the rows of a list beside its requests."""
    transfer.runs = transfer.requests + REQUEST_WORDS * transfer.most
    transfer.sizes = transfer.runs + RUN * transfer.extent
    for n in range(transfer.words - REQUEST_WORDS * transfer.most):
        state.words[transfer.runs + n] = state.staged[staged + n]


@njit
def _arrive(state: DramState, spread: AddressSpread, transfer: TransferRecord, slot: int) -> None:
    feeds, cursors = state.feeds, state.cursors
    spread.under_way += 1
    if transfer.bursts == NONE:
        transfer.bursts = bursts_of(spread, state.words, transfer, cursors[0, slot])
    enlist(spread, state.words, transfer)
    if transfer.most:
        transfer.following, spread.paced = spread.paced, slot
    for c in range(feeds.size):
        feed, cursor = feeds[c], cursors[c, slot]
        rewind(spread, state.words, c, transfer, cursor)
        if seek(spread, state.words, c, transfer, cursor):
            transfer.open_channels += 1
            append_pending(feed, cursors[c], slot)
            feed.take_at = min(feed.take_at, transfer.visible)
            feed.next_at = min(feed.next_at, transfer.visible)
    if transfer.open_channels == 0:
        transfer.first_beat = transfer.last_beat = transfer.visible
        insert_ending(state.transfers, state.ending, slot)


@njit
def collect(state: DramState, spread: AddressSpread, until: int) -> int:
    """Write the completions of the first instant up to cycle ``until`` that has some; how many."""
    count, transfers, ending = 0, state.transfers, state.ending
    instant = first_completion(transfers, ending)
    while instant <= until and first_completion(transfers, ending) == instant:
        slot = ending[0]
        transfer = transfers[slot]
        ending[0] = transfer.ends_before
        _complete(spread, transfer, state.completions[count])
        state.header[USEFUL_READ + transfer.write] += transfer.useful
        if transfer.layer != NONE:
            charge(state, transfer.layer, state.completions[count])
        if transfer.words:
            give(spread.free_words, state.words, transfer.requests, transfer.words)
        _leave(state, spread, slot, transfer.place)
        count += 1
    spread.under_way -= count
    return count


@inlined
def _leave(state: DramState, spread: AddressSpread, slot: int, place: int) -> None:
    """A slot is free again: the last one that was taken goes to its place."""
    other = state.free[spread.free_slots]
    state.free[place], state.transfers[other].place = other, place
    state.free[spread.free_slots] = slot
    spread.free_slots += 1


@inlined
def _complete(spread: AddressSpread, transfer: TransferRecord, row: Any) -> None:
    rows = transfer.hits + transfer.misses + transfer.conflicts
    row[0], row[1], row[2] = transfer.ticket, edge(spread, transfer.last_beat), edge(spread, transfer.first_beat)
    row[3], row[4], row[5] = transfer.write, transfer.useful, rows * spread.burst_bytes
    row[6], row[7], row[8], row[9] = transfer.hits, transfer.misses, transfer.conflicts, transfer.activates
    row[10] = transfer.asked_ps


@njit
def take(spread: AddressSpread, words: Any, count: int) -> int:
    """The first of ``count`` words that nobody has; NONE where there are not so many."""
    size = size_of(count)
    first: int = spread.free_words[size]
    if first != NONE:
        spread.free_words[size] = words[first]
        return first
    first = spread.used_words
    if first + (1 << size) > words.size:
        return NONE
    spread.used_words += 1 << size
    return first
