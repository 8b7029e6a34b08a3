"""Memory layout of the transfers under way: strided regions or lists of rows, and where each channel stands in them.

Words of a transfer with requests of its own time (``most`` > 0), in State.words: REQUEST words for each of ``most``
requests at once from ``requests`` on; of a list also RUN words for each run from ``runs`` on, and from ``sizes`` on the
bursts of each row. Of an asker: what ASKER names, then the cycles in which as many of its last bursts as it has
requests were taken in.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from archsim.base.records import record
from archsim.memory.dram.interface import MAX_OUTER_EXTENTS

OuterLoops = Annotated[Any, np.int64, (MAX_OUTER_EXTENTS - 1,)]  # outside the innermost one, outermost first
ByDirection = Annotated[Any, np.int64, (2,)]  # reads, writes


REQUEST = 3  # words of a request: the cycle from which it may be asked for, bursts that have no end yet, last end
RUN = 3  # words of a run: address, bytes, row
OWNER_BITS = 24  # of a transfer's slot in the owner of a queued burst; above: which of its requests
ASKERS = 2  # of a transfer at most: an engine, and the port through which it asks
ASKER = 5  # words of an asker, by their places:
REQUESTS, HZ = 0, 1  # so many in a cycle of this clock
TOTAL, TAKEN = 2, 3  # bursts of all its transfers so far; of them, those that were taken in
READY = 4  # from which cycle on the next one may be
ByAsker = Annotated[Any, np.int64, (ASKERS,)]


class Spread:
    """How addresses spread over channels and transfers take turns; ``*_bits`` are shifts."""

    channels: int
    burst_bits: int
    interleave_bits: int  # bursts side by side on a channel
    turn: int  # bursts of one transfer before the next
    shortest: int  # cycles from taking a burst in, or issuing it, to its end, at least
    under_way: int  # transfers
    clock_hz: int
    paced: int  # the first transfer of which a request has no time yet
    offers: int  # bursts under way that have askers and are not taken in yet


class Transfer:
    """One transfer under way; the innermost of its loops is here, the others are in the outer ones."""

    write: int
    visible: int
    order: int
    address: int
    run_bytes: int
    extent: int  # of a list: its runs
    stride: int
    outer_extents: OuterLoops
    outer_strides: OuterLoops
    most: int  # requests under way: bursts, or rows of a list; 0: all of its bursts
    total: int  # requests; NEVER of bursts, which need not be counted
    requests: int  # first word
    runs: int  # first word; NONE: not a list
    sizes: int  # first word
    setup: int  # cycles of the engine's clock before each row
    engine_hz: int
    bursts: int  # of a transfer with askers; else 0
    askers: ByAsker  # first words; NONE: not so many
    bases: ByAsker  # how many bursts the askers have before its first
    asked: int  # requests that have their time
    asked_cycle: int  # of the last one of them
    following: int  # of the paced ones
    open_channels: int  # that have not taken all of its bursts in
    queued: int  # bursts taken in that have not had their column command
    first_beat: int
    last_beat: int
    hits: int
    misses: int
    conflicts: int
    activates: int
    asked_ps: int  # when the engine asked for the last row that has its time
    ends_before: int  # the slot of the next completion


class Cursor:
    """Where one channel stands in one transfer: burst numbers [local, stop) of the current run on this channel."""

    following: int
    index: int  # of the innermost loop
    outer_indices: OuterLoops  # all 0 before and after a transfer
    run_address: int
    last_burst: int
    run_first: int  # the first burst of the current run, and its number among all of the region
    run_number: int
    next_number: int
    local: int
    stop: int


class Feed:
    """What a channel is fed from: transfers to come, and a ring of those under way for each direction."""

    number: int
    next_at: int  # before which the channel can do nothing
    planned: int  # the cycle of its planned command; NONE: to be planned
    plan_at: int  # when that is to be done, if not at once: it must see all that is taken in in a cycle
    take_at: int  # when it can take bursts in, if not with an event of its own
    parked: int  # the first of the transfers that wait for their next request's time
    release_at: int  # the first such time that is known
    room_at: int  # the cycle of ``room``
    room: ByDirection  # bursts that may still be taken in, in that cycle
    pending_head: int
    pending_tail: int
    tails: ByDirection
    turns: ByDirection  # bursts that the head of a ring has had in its turn


SPREAD, TRANSFER, CURSOR, FEED = map(record, (Spread, Transfer, Cursor, Feed))


class State(NamedTuple):
    """All arrays of a memory. C channels, S slots for transfers under way."""

    rules: Any  # (1,) Rules
    spread: Any  # (1,) Spread
    channels: Any  # (C,) Channel
    feeds: Any  # (C,) Feed
    transfers: Any  # (S,) Transfer
    cursors: Any  # (C, S) Cursor
    ending: Any  # (1,) the slot of the first completion to come
    done: Any  # (S,) slots that completed
    words: Any  # (W,) of transfers with requests of their own time, and of askers
    logs: Any  # (C,) Log
