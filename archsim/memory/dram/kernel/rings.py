"""The transfers of a channel: those to come, and for each direction a ring of those that take turns.

Lists are linked through Cursor.following; a ring is known by its tail, whose following is its head.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.memory.dram.kernel.layout import NEVER, NONE
from archsim.memory.dram.kernel.transfers import Feed, Transfer


@njit
def append_pending(feed: Feed, cursors: Any, slot: int) -> None:
    """A transfer that becomes visible after all others."""
    cursors[slot].following = NONE
    if feed.pending_head == NONE:
        feed.pending_head = slot
    else:
        cursors[feed.pending_tail].following = slot
    feed.pending_tail = slot


@inlined
def admit(feed: Feed, transfers: Any, cursors: Any, now: int) -> None:
    """Move the transfers visible now to the tails of their rings."""
    while feed.pending_head != NONE and transfers[feed.pending_head].visible <= now:
        slot = feed.pending_head
        feed.pending_head = cursors[slot].following
        append(feed, cursors, transfers[slot].write, slot)


@inlined
def append(feed: Feed, cursors: Any, write: int, slot: int) -> None:
    """Put a transfer at the tail of a ring."""
    tail = feed.tails[write]
    if tail == NONE:
        cursors[slot].following = slot
    else:
        cursors[slot].following = cursors[tail].following
        cursors[tail].following = slot
    feed.tails[write] = slot


@inlined
def remove_head(feed: Feed, cursors: Any, write: int) -> None:
    """The head of a ring leaves it."""
    tail = feed.tails[write]
    head = cursors[tail].following
    feed.turns[write] = 0
    if head == tail:
        feed.tails[write] = NONE
    else:
        cursors[tail].following = cursors[head].following


@inlined
def next_turn(feed: Feed, cursors: Any, write: int) -> None:
    """The head of a ring goes to its tail."""
    feed.tails[write] = cursors[feed.tails[write]].following
    feed.turns[write] = 0


# ---- completions to come: a list sorted by (time, order), its head in ``ending[0]`` ------------------------------


@njit
def first_completion(transfers: Any, ending: Any) -> int:
    """When the next transfer ends whose bursts are all issued; NEVER without one."""
    if ending[0] == NONE:
        return NEVER
    first: Transfer = transfers[ending[0]]
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
def _ends_first(one: Transfer, other: Transfer) -> bool:
    return one.last_beat < other.last_beat or (one.last_beat == other.last_beat and one.order < other.order)
