"""Memory layout of the compiled code: records of 64-bit integers, declared once for type checker and compiler.

Transfers under way are strided regions or lists of rows, and each channel keeps where it stands in them. A transfer
with requests of its own time (``most`` > 0) has words in State.words: REQUEST_WORDS for each of ``most`` requests at
once from ``requests`` on; of a list also RUN words for each run from ``runs`` on, and from ``sizes`` on the bursts of
each row. An asker has what ASKER names, then the cycles in which as many of its last bursts as it has requests were
taken in.

What is submitted (``archsim.base.served``) is a shape, and where it begins. A shape is what transfers that are alike
have in common, as the words of a Transfer; so is what stands before the runs and the bursts of each row of a list.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from archsim.base import served
from archsim.base.records import record
from archsim.memory.dram.interface import MAX_OUTER_EXTENTS

NEVER = 1 << 62
IMPLIED = -NEVER
NONE = -1  # no slot, no row, no bank

RD, WR, PRE, ACT, ACT2, CAS_RD, CAS_WR, RDA, WRA, PREAB, REFAB, REFPB = range(12)
COMMANDS, COMMAND_BITS = 12, 4
COLUMN, CLOSING, OPENING, NEEDS = range(4)  # what a queued access can need next: RD or WR, PRE, ACT

ACTIVE, REFRESH, READS, WRITES, SECOND, IDLE = range(6)  # where the planned command comes from
SINGLE, SPLIT, DUAL = range(3)  # one command a cycle; with split activates and WCK; a row and a column command
OPEN, CLOSED, TIMEOUT = range(3)  # row policies
INTAKE = 8  # bursts of transfers that each queue takes in a cycle
HIT, MISS, CONFLICT, OPENED = 1, 2, 3, 4  # how an access was counted; OPENED is added when a row was opened for it


# Room for what a device and its controller have; a channel's record holds all of it side by side.
MOST_BANKS = 256
MOST_RANKS = 64
MOST_QUEUED = 128  # in each queue
MOST_ENTRIES = 2 * MOST_QUEUED + MOST_BANKS + 1
SLOT_BITS = 10  # of an access's age, which ends in its slot
MOST_RULES = 160
MOST_WINDOWS = 4
LONGEST_WINDOW = 4
HASHES = 256  # counters of queued writes
CHUNKS, CHUNK_BITS = 4, 8  # of a burst's number
BANK_BITS, COLUMN_BITS = 12, 16  # of its image; the row is above

INDEX = np.uint32  # what is used as an index has no sign: the compiled code need not look for negative ones
UNSIGNED: Any = np.uint64  # for loops over indices
NUMBER: Any = np.int64  # of an index that is calculated with
Spacing = Annotated[Any, np.int64, (COMMANDS, 2, 1 << COMMAND_BITS)]
PerBankCommand = Annotated[Any, np.int64, (MOST_BANKS << COMMAND_BITS,)]
Codes = Annotated[Any, np.int64, (MOST_BANKS << COMMAND_BITS,)]
Listed = Annotated[Any, np.int64, (2, MOST_QUEUED + 8)]  # lists of 2^n words would share lines of the cache
Places = Annotated[Any, INDEX, (2, NEEDS, MOST_BANKS)]
PerBank = Annotated[Any, np.int64, (MOST_BANKS,)]
PerRank = Annotated[Any, np.int64, (MOST_RANKS,)]
PerEntry = Annotated[Any, np.int64, (MOST_ENTRIES,)]
IndexPerEntry = Annotated[Any, INDEX, (MOST_ENTRIES,)]
Links = Annotated[Any, INDEX, (MOST_ENTRIES + 2 * MOST_BANKS,)]
PerRule = Annotated[Any, np.int64, (MOST_RULES,)]
ByDirection = Annotated[Any, np.int64, (2,)]  # reads, writes
PerWindow = Annotated[Any, np.int64, (MOST_WINDOWS,)]


class DramRules:
    """Structure and behaviour of a DRAM channel and its controller, in clock cycles.

    A command on a rank is the unit rank << COMMAND_BITS | command; on a bank, the code unit << rank_bits | bank of
    the rank. ``spacing[c, 0, f]`` cycles after a command c, f may come on its rank, ``spacing[c, 1, f]`` on the others;
    IMPLIED where nothing is asked. Rule k of ``first[c]:first[c + 1]`` is within the rank: the command of code
    ``follow`` on bank 0 may not come for ``cycles`` on the ``size`` banks from (bank & ``mask``) ^ ``flip`` on; before
    ``first_wide[c]`` that is the bank itself.
    Window w: ``window_follow`` may not come for ``window_cycles`` after the ``window_count``-th last
    ``window_before`` in a unit of 1 << ``window_bits`` banks.
    """

    rank_bits: int
    ranks: int
    follows: int  # 1 << COMMAND_BITS: a loop of unknown length is compiled to vectors, one of 16 turns to 16 steps
    banks: int
    protocol: int
    burst: int  # cycles of a burst on the data bus
    read_end: int  # from a read command to its last beat
    write_end: int
    read_queue: int
    write_queue: int
    write_enter: int  # queued writes that start draining
    write_leave: int  # queued writes at which draining stops when reads wait
    row_policy: int
    refresh_interval: int
    refresh_scope: int  # banks of one refresh: of a rank, or those that are refreshed bank by bank
    refresh_stride: int  # from one of them to the next: 1 for a rank, more bank by bank
    refresh_reach: int  # intervals that any constraint reaches back, and one: after as many all is as after more
    activate_window: int  # deadline of the second half of a split activate
    clock_linger: int  # cycles for which the data clock runs on after the last beat; 0 = always on
    windows: int
    first: Annotated[Any, np.int64, (COMMANDS + 1,)]
    first_wide: Annotated[Any, np.int64, (COMMANDS,)]
    spacing: Spacing
    follow: PerRule
    mask: PerRule
    flip: PerRule
    size: PerRule
    cycles: PerRule
    window_before: PerWindow
    window_follow: PerWindow
    window_bits: PerWindow
    window_count: PerWindow
    window_cycles: PerWindow
    images: Annotated[Any, np.int64, (CHUNKS, 1 << CHUNK_BITS)]  # of a burst's number, by chunk: bank, column, row
    rank_banks: int
    row_timeout: int  # cycles for which a row that is not accessed stays open under TIMEOUT


class ChannelRecord:
    """One channel: its controller, its banks and its queues.

    The accesses that a queue (0 of reads, 1 of writes) has for a bank are linked in a ring, oldest first, that is
    closed by an entry of its own: MOST_ENTRIES + queue * MOST_BANKS + bank. Of those that need the same of a bank the
    oldest is listed under its queue, in no order. While a bank is held, no access is listed that needs
    another row, and none while the bank is to be refreshed by itself.
    """

    writing: int  # 1 while it drains writes
    reads: int  # queued
    writes: int
    queued: int  # of all accesses so far, those that were
    active: int  # accesses whose row was opened for them
    free_slots: int
    planned_at: int
    planned_from: int
    planned: int
    column_at: int  # of a second, column command
    column_from: int
    column: int
    held: int  # the access whose split activate is half done
    deadline: int  # of its other half
    clock_until: int  # the data clock runs
    synced: int  # the access whose CAS has been issued
    synced_from: int
    refresh_due: int
    refresh_asked: int
    refresh_done: int
    refresh_low: int  # the first bank of the refresh asked for first, if of single banks; NONE otherwise
    hits: int
    misses: int
    conflicts: int
    forwarded: int
    merged: int
    bus: PerBankCommand  # first cycle at which a command may issue on a rank
    ready: Codes  # and on a bank
    refreshing: PerBank  # 1 while a refresh of the bank alone is asked for: none of the queued accesses goes on
    listed: ByDirection  # how many
    codes: Listed
    needs: Listed
    ages: Listed
    places: Places  # of a bank in a list, from 1; 0 where it is not
    open_row: PerBank
    holder: PerBank  # 1 while an access waits for the row that it opened
    history: Annotated[Any, np.int64, (MOST_WINDOWS, MOST_BANKS, LONGEST_WINDOW)]  # earlier commands of a window's unit
    history_at: Annotated[Any, np.int64, (MOST_WINDOWS, MOST_BANKS)]
    following: Links
    before: Links
    age: PerEntry  # how many were queued before, then the slot
    code: IndexPerEntry  # of the column command of an active access
    bank: IndexPerEntry
    row: PerEntry
    col: PerEntry
    write: PerEntry
    arrived: PerEntry
    burst: PerEntry
    owner: PerEntry
    counted: PerEntry
    free: IndexPerEntry  # slots
    active_order: Annotated[Any, INDEX, (MOST_BANKS,)]
    written: Annotated[Any, np.int64, (HASHES,)]  # queued writes by burst modulo HASHES
    counts: Annotated[Any, np.int64, (COMMANDS,)]  # issued
    accessed: PerBank  # the cycle of a bank's last column command
    open_banks: PerRank
    open_since: PerRank  # the cycle of the first activate, while a bank is open
    open_cycles: PerRank  # in which a bank was open, before that


LOG_ROOM = 4096


class CommandLog:
    """Commands that were issued, as far as there is room."""

    limit: int
    count: int
    rows: Annotated[Any, np.int64, (LOG_ROOM, 5)]  # cycle, command, bank, row, column


class RequestRecord:
    """One request of a trace, and, filled in, the cycles at which it was taken in and ended.

    A read ends with its last beat, a write when it is issued or merged, a forwarded read one cycle after it was taken
    in.
    """

    arrival: int  # cycle
    channel: int
    burst: int  # its number on the channel
    write: int
    accepted: int
    ended: int


RULES, CHANNEL, LOG, REQUEST = map(record, (DramRules, ChannelRecord, CommandLog, RequestRecord))


OuterLoops = Annotated[Any, np.int64, (MAX_OUTER_EXTENTS - 1,)]  # outside the innermost one, outermost first


REQUEST_WORDS = 3  # words of a request: the cycle from which it may be asked for, bursts that have no end yet, last end
RUN = 3  # words of a run: address, bytes, row
OWNER_BITS = 24  # of a transfer's slot in the owner of a queued burst; above: which of its requests
ASKERS = 2  # of a transfer at most: an engine, and the port through which it asks
ASKER = 5  # words of an asker, by their places:
REQUESTS, HZ = 0, 1  # so many in a cycle of this clock
TOTAL, TAKEN = 2, 3  # bursts of all its transfers so far; of them, those that were taken in
READY = 4  # from which cycle on the next one may be
ByAsker = Annotated[Any, np.int64, (ASKERS,)]


LISTED = -1  # what a request of a list of rows is for; its words are in State.staged from where it says on
# of the header: the time reached; bytes asked for of transfers that have ended; whether a request lay outside the
# memory; whether transfers of layers go on the bandwidth trace, and how many are there; words of lists that
# are to be submitted, and where they end
NOW_PS, USEFUL_READ, USEFUL_WRITTEN, OUTSIDE, TRACES, MOVED, STAGED, STAGED_END = range(
    served.HEADER, served.HEADER + 8
)
HEADER = served.HEADER + 8
CHARGES = 6  # columns: bytes on the pins by direction; row hits, misses and conflicts; activates
MOVED_WIDTH = 9  # columns of State.moved: those of ir.rows.Bandwidth behind the memory
SIZES = 48  # of stretches of words, which are powers of two


class AddressSpread:
    """How addresses spread over channels and transfers take turns; ``*_bits`` are shifts. What is free is here too."""

    channels: int
    burst_bits: int
    interleave_bits: int  # bursts side by side on a channel
    turn: int  # bursts of one transfer before the next
    shortest: int  # cycles from taking a burst in, or issuing it, to its end, at least
    under_way: int  # transfers
    clock_hz: int
    paced: int  # the first transfer of which a request has no time yet
    offers: int  # bursts under way that have askers and are not taken in yet
    burst_bytes: int
    capacity_bytes: int
    gap: int  # cycles between column commands of a channel, at least
    submitted: int  # transfers so far
    free_slots: int
    used_words: int  # those behind have never been taken
    free_words: Annotated[Any, np.int64, (SIZES,)]  # the first free stretch of 2^n words, which names the next one


class TransferRecord:
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
    useful: int  # bytes that were asked for
    words: int  # how many it has, from ``requests`` on
    ticket: int
    layer: int
    below: int  # bytes that it reaches before where it begins, and from there on
    above: int
    fewest: int  # column commands that it needs at least: its bursts, unless writes under way serve or absorb some
    place: int  # of its slot in State.free


class BurstCursor:
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


class ChannelFeed:
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


SPREAD, TRANSFER, CURSOR, FEED = map(record, (AddressSpread, TransferRecord, BurstCursor, ChannelFeed))


class DramState(NamedTuple):
    """All arrays of a memory. C channels, S slots for transfers under way, each of T words."""

    header: Any  # (HEADER,)
    completions: Any  # (S, served.COMPLETION_WIDTH) of the instant reached: the fields of a TransferCompletion
    rules: Any  # (1,) Rules
    spread: Any  # (1,) Spread
    channels: Any  # (C,) Channel
    feeds: Any  # (C,) Feed
    transfers: Any  # (S,) Transfer
    table: Any  # (S, T) the same memory
    shapes: Any  # (N, T)
    staged: Any  # (L,) lists that are submitted next: T words, three of each run, the bursts of each row
    cursors: Any  # (C, S) Cursor
    ending: Any  # (1,) the slot of the first completion to come
    free: Any  # (S,) slots: the first ``free_slots`` are free, the others under way
    words: Any  # (W,) of transfers with requests of their own time, and of askers
    logs: Any  # (C,) Log
    charged: Any  # (layers, CHARGES)
    moved: Any  # (M, MOVED_WIDTH)
