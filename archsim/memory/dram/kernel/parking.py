"""Transfers of a channel whose next burst may not be taken in yet: out of their ring, until it may be.

A burst waits for the time of its request (kernel/pace.py) and for its askers to offer it (kernel/offers.py).
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.memory.dram.kernel.layout import NEVER, NONE
from archsim.memory.dram.kernel.offers import offered
from archsim.memory.dram.kernel.pace import known
from archsim.memory.dram.kernel.regions import position, request
from archsim.memory.dram.kernel.rings import append
from archsim.memory.dram.kernel.transfers import Feed, Spread


@inlined
def next_place(spread: Spread, words: Any, feed: Feed, transfer: Any, cursor: Any, now: int) -> int:
    """The place of the request that the next burst belongs to; NONE while it may not be asked for."""
    place = 0
    if transfer.most or transfer.bursts:
        place = _place(spread, words, feed, transfer, cursor, now)
    return place


@njit
def _place(spread: Spread, words: Any, feed: Feed, transfer: Any, cursor: Any, now: int) -> int:
    at = _free_at(spread, words, feed, transfer, cursor)
    if at > now:
        feed.release_at = min(feed.release_at, at)
        return NONE
    if transfer.most:
        place: int = request(spread, words, feed.number, transfer, cursor) % transfer.most
        return place
    return 0


@inlined
def _free_at(spread: Spread, words: Any, feed: Feed, transfer: Any, cursor: Any) -> int:
    """From which cycle on the next burst of a transfer may be taken in; NEVER while that is not known."""
    at = 0
    if transfer.most:
        at = known(words, transfer, request(spread, words, feed.number, transfer, cursor))
    if transfer.bursts:
        at = max(at, offered(words, transfer, position(spread, feed.number, cursor)))
    return at


@njit
def look_ahead(spread: Spread, words: Any, feed: Feed, transfers: Any, cursors: Any) -> None:
    """Find anew when the first of the parked transfers can go on."""
    feed.release_at = NEVER
    slot = feed.parked
    while slot != NONE:
        cursor = cursors[slot]
        feed.release_at = min(feed.release_at, _free_at(spread, words, feed, transfers[slot], cursor))
        slot = cursor.following


@njit
def park(feed: Feed, transfers: Any, cursors: Any, slot: int) -> None:
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
def rejoin(spread: Spread, words: Any, feed: Feed, transfers: Any, cursors: Any, now: int) -> None:
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
