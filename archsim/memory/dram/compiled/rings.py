"""The transfers of a channel: those to come, and for each direction a ring of those that take turns.

Lists are linked through Cursor.following; a ring is known by its tail, whose following is its head.

A transfer whose next burst may not be taken in yet is out of its ring until it may be: a burst waits for the time of
its request and for its askers to offer it (``compiled/intake.py``).
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.memory.dram.compiled.intake import known, offered
from archsim.memory.dram.compiled.records import NEVER, NONE, AddressSpread, ChannelFeed, TransferRecord
from archsim.memory.dram.compiled.regions import position, request


@njit
def append_pending(feed: ChannelFeed, cursors: Any, slot: int) -> None:
    """A transfer that becomes visible after all others."""
    cursors[slot].following = NONE
    if feed.pending_head == NONE:
        feed.pending_head = slot
    else:
        cursors[feed.pending_tail].following = slot
    feed.pending_tail = slot


@inlined
def admit(feed: ChannelFeed, transfers: Any, cursors: Any, now: int) -> None:
    """Move the transfers visible now to the tails of their rings."""
    while feed.pending_head != NONE and transfers[feed.pending_head].visible <= now:
        slot = feed.pending_head
        feed.pending_head = cursors[slot].following
        append(feed, cursors, transfers[slot].write, slot)


@inlined
def append(feed: ChannelFeed, cursors: Any, write: int, slot: int) -> None:
    """Put a transfer at the tail of a ring."""
    tail = feed.tails[write]
    if tail == NONE:
        cursors[slot].following = slot
    else:
        cursors[slot].following = cursors[tail].following
        cursors[tail].following = slot
    feed.tails[write] = slot


@inlined
def remove_head(feed: ChannelFeed, cursors: Any, write: int) -> None:
    """The head of a ring leaves it."""
    tail = feed.tails[write]
    head = cursors[tail].following
    feed.turns[write] = 0
    if head == tail:
        feed.tails[write] = NONE
    else:
        cursors[tail].following = cursors[head].following


@inlined
def next_turn(feed: ChannelFeed, cursors: Any, write: int) -> None:
    """The head of a ring goes to its tail."""
    feed.tails[write] = cursors[feed.tails[write]].following
    feed.turns[write] = 0


# ---- completions to come: a list sorted by (time, order), its head in ``ending[0]`` ------------------------------


@njit
def first_completion(transfers: Any, ending: Any) -> int:
    """When the next transfer ends whose bursts are all issued; NEVER without one."""
    if ending[0] == NONE:
        return NEVER
    first: TransferRecord = transfers[ending[0]]
    return first.last_beat


@njit
def insert_ending(transfers: Any, ending: Any, slot: int) -> None:
    """Short at all times: a transfer is in the list from the issue of its last burst to its last beat."""
    transfer = transfers[slot]
    before, after = NONE, ending[0]
    while after != NONE and _ends_first(transfers[after], transfer):
        before, after = after, transfers[after].ends_before
    transfer.ends_before = after
    if before == NONE:
        ending[0] = slot
    else:
        transfers[before].ends_before = slot


@njit
def _ends_first(one: TransferRecord, other: TransferRecord) -> bool:
    return one.last_beat < other.last_beat or (one.last_beat == other.last_beat and one.order < other.order)


@inlined
def next_place(spread: AddressSpread, words: Any, feed: ChannelFeed, transfer: Any, cursor: Any, now: int) -> int:
    """The place of the request that the next burst belongs to; NONE while it may not be asked for."""
    place = 0
    if transfer.most or transfer.bursts:
        place = _place(spread, words, feed, transfer, cursor, now)
    return place


@njit
def _place(spread: AddressSpread, words: Any, feed: ChannelFeed, transfer: Any, cursor: Any, now: int) -> int:
    at = _free_at(spread, words, feed, transfer, cursor)
    if at > now:
        feed.release_at = min(feed.release_at, at)
        return NONE
    if transfer.most:
        place: int = request(spread, words, feed.number, transfer, cursor) % transfer.most
        return place
    return 0


@inlined
def _free_at(spread: AddressSpread, words: Any, feed: ChannelFeed, transfer: Any, cursor: Any) -> int:
    """From which cycle on the next burst of a transfer may be taken in; NEVER while that is not known."""
    at = 0
    if transfer.most:
        at = known(words, transfer, request(spread, words, feed.number, transfer, cursor))
    if transfer.bursts:
        at = max(at, offered(words, transfer, position(spread, feed.number, cursor)))
    return at


@njit
def look_ahead(spread: AddressSpread, words: Any, feed: ChannelFeed, transfers: Any, cursors: Any) -> None:
    """Find anew when the first of the parked transfers can go on."""
    feed.release_at = NEVER
    slot = feed.parked
    while slot != NONE:
        cursor = cursors[slot]
        feed.release_at = min(feed.release_at, _free_at(spread, words, feed, transfers[slot], cursor))
        slot = cursor.following


@njit
def park(feed: ChannelFeed, transfers: Any, cursors: Any, slot: int) -> None:
    """Put a transfer that has left its ring among those that wait, in order of submission."""
    before, after = NONE, feed.parked
    while after != NONE and transfers[after].order < transfers[slot].order:
        before, after = after, cursors[after].following
    cursors[slot].following = after
    if before == NONE:
        feed.parked = slot
    else:
        cursors[before].following = slot


@njit
def rejoin(spread: AddressSpread, words: Any, feed: ChannelFeed, transfers: Any, cursors: Any, now: int) -> None:
    """Those whose next request may be asked for now go to the tails of their rings."""
    before, slot = NONE, feed.parked
    while slot != NONE:
        following = cursors[slot].following
        if _free_at(spread, words, feed, transfers[slot], cursors[slot]) > now:
            before = slot
        else:
            if before == NONE:
                feed.parked = following
            else:
                cursors[before].following = following
            append(feed, cursors, transfers[slot].write, slot)
        slot = following
    look_ahead(spread, words, feed, transfers, cursors)
