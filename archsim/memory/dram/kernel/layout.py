"""Memory layout of the kernel: records of 64-bit integers, declared once for type checker and compiler."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from archsim.base.records import record

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
Units = Annotated[Any, np.int64, (MOST_BANKS << COMMAND_BITS,)]
Codes = Annotated[Any, np.int64, (MOST_BANKS << COMMAND_BITS,)]
Listed = Annotated[Any, np.int64, (2, NEEDS, MOST_QUEUED + 8)]  # lists of 2^n words would share lines of the cache
Places = Annotated[Any, INDEX, (2, NEEDS, MOST_BANKS)]
Banks = Annotated[Any, np.int64, (MOST_BANKS,)]
Ranks = Annotated[Any, np.int64, (MOST_RANKS,)]
Entries = Annotated[Any, np.int64, (MOST_ENTRIES,)]
Indices = Annotated[Any, INDEX, (MOST_ENTRIES,)]
Links = Annotated[Any, INDEX, (MOST_ENTRIES + 2 * MOST_BANKS,)]
PerRule = Annotated[Any, np.int64, (MOST_RULES,)]
PerWindow = Annotated[Any, np.int64, (MOST_WINDOWS,)]


class Rules:
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


class Channel:
    """One channel: its controller, its banks and its queues.

    The accesses that a queue (0 of reads, 1 of writes) has for a bank are linked in a ring, oldest first, that is
    closed by an entry of its own: MOST_ENTRIES + queue * MOST_BANKS + bank. Of those that need the same of a bank the
    oldest is listed under its queue and need, in no order. While a bank is held, no access is listed that needs
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
    bus: Units  # first cycle at which a command may issue on a rank
    ready: Codes  # and on a bank
    refreshing: Banks  # 1 while a refresh of the bank alone is asked for: none of the queued accesses goes on
    listed: Annotated[Any, np.int64, (2, NEEDS)]  # how many
    codes: Listed
    ages: Listed
    places: Places  # of a bank in a list, from 1; 0 where it is not
    open_row: Banks
    holder: Banks  # 1 while an access waits for the row that it opened
    history: Annotated[Any, np.int64, (MOST_WINDOWS, MOST_BANKS, LONGEST_WINDOW)]  # earlier commands of a window's unit
    history_at: Annotated[Any, np.int64, (MOST_WINDOWS, MOST_BANKS)]
    following: Links
    before: Links
    age: Entries  # how many were queued before, then the slot
    code: Indices  # of the column command of an active access
    bank: Indices
    row: Entries
    col: Entries
    write: Entries
    arrived: Entries
    burst: Entries
    owner: Entries
    counted: Entries
    free: Indices  # slots
    active_order: Annotated[Any, INDEX, (MOST_BANKS,)]
    written: Annotated[Any, np.int64, (HASHES,)]  # queued writes by burst modulo HASHES
    counts: Annotated[Any, np.int64, (COMMANDS,)]  # issued
    accessed: Banks  # the cycle of a bank's last column command
    open_banks: Ranks
    open_since: Ranks  # the cycle of the first activate, while a bank is open
    open_cycles: Ranks  # in which a bank was open, before that


LOG_ROOM = 4096


class Log:
    """Commands that were issued, as far as there is room."""

    limit: int
    count: int
    rows: Annotated[Any, np.int64, (LOG_ROOM, 5)]  # cycle, command, bank, row, column


class Request:
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


RULES, CHANNEL, LOG, REQUEST = map(record, (Rules, Channel, Log, Request))
