"""Memory layout of the kernel: records of 64-bit integers, declared once for type checker and compiler."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_type_hints

import numpy as np

NEVER = 1 << 62
NONE = -1  # no slot, no row, no bank

# Commands. The first five are what a queued access can need next; BLOCKED: its bank is held by another access.
RD, WR, PRE, ACT, BLOCKED, ACT2, CAS_RD, CAS_WR, RDA, WRA, PREAB, REFAB, REFPB = range(13)
COMMANDS = 13

ACTIVE, REFRESH, READS, WRITES, SECOND, IDLE = range(6)  # where the planned command comes from
SINGLE, SPLIT, DUAL = range(3)  # one command a cycle; with split activates and WCK; a row and a column command
OPEN, CLOSED, TIMEOUT = range(3)  # row policies
INTAKE = 8  # accesses a channel takes in per cycle
HIT, MISS, CONFLICT, OPENED = 1, 2, 3, 4  # how an access was counted; OPENED is added when a row was opened for it


# Room for what a device and its controller have; a channel's record holds all of it side by side.
MOST_BANKS = 256
MOST_RANKS = 64
MOST_QUEUED = 64  # in each queue
MOST_ENTRIES = 2 * MOST_QUEUED + MOST_BANKS + 1
MOST_RULES = 160
MOST_WINDOWS = 4
LONGEST_WINDOW = 4
HASHES = 256  # counters of queued writes
CHUNKS, CHUNK_BITS = 4, 8  # of a burst's number
BANK_BITS, COLUMN_BITS = 12, 16  # of its image; the row is above

INDEX = np.uint32  # what is used as an index has no sign: the compiled code need not look for negative ones
Codes = Annotated[Any, np.int64, (COMMANDS * MOST_BANKS,)]
Banks = Annotated[Any, np.int64, (MOST_BANKS,)]
Ranks = Annotated[Any, np.int64, (MOST_RANKS,)]
Entries = Annotated[Any, np.int64, (MOST_ENTRIES,)]
Indices = Annotated[Any, INDEX, (MOST_ENTRIES,)]
Order = Annotated[Any, INDEX, (4 * MOST_QUEUED,)]
PerRule = Annotated[Any, np.int64, (MOST_RULES,)]
PerWindow = Annotated[Any, np.int64, (MOST_WINDOWS,)]


class Rules:
    """Structure and behaviour of a DRAM channel and its controller, in clock cycles.

    Constraint k of ``first[c]:first[c + 1]`` follows a command c on a bank: command ``follow`` may not come for
    ``cycles`` on every ``step``-th bank of the same unit of ``size`` banks; when ``around`` is not 0, on the other
    units among ``around`` banks instead; when ``size`` is 0, on the whole channel. Window w: ``window_follow`` may
    not come for ``window_cycles`` after the ``window_count``-th last ``window_before`` in a unit of ``window_size``
    banks. A command and a bank together are the code command << bank_bits | bank.
    """

    bank_bits: int
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
    activate_window: int  # deadline of the second half of a split activate
    clock_linger: int  # cycles for which the data clock runs on after the last beat; 0 = always on
    windows: int
    first: Annotated[Any, np.int64, (COMMANDS + 1,)]
    follow: PerRule
    size: PerRule
    around: PerRule
    step: PerRule
    cycles: PerRule
    window_before: PerWindow
    window_follow: PerWindow
    window_size: PerWindow
    window_count: PerWindow
    window_cycles: PerWindow
    images: Annotated[Any, np.int64, (CHUNKS, 1 << CHUNK_BITS)]  # of a burst's number, by chunk: bank, column, row
    rank_banks: int
    row_timeout: int  # cycles for which a row that is not accessed stays open under TIMEOUT


class Channel:
    """One channel: its controller, its banks and its queues.

    Queues are ``first:first + count`` of their order; accesses queued for one bank are linked in a list.
    """

    writing: int  # 1 while it drains writes
    reads: int  # queued
    writes: int
    reads_first: int
    writes_first: int
    read_rows: int  # of the queued reads, those that need a row command
    write_rows: int
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
    synced: int  # the access whose CAS has been issued: its position behind the oldest one of its buffer
    synced_from: int
    refresh_due: int
    refresh_asked: int
    refresh_done: int
    hits: int
    misses: int
    conflicts: int
    forwarded: int
    merged: int
    bus: Annotated[Any, np.int64, (COMMANDS,)]  # first cycle at which a command may issue on the channel
    ready: Codes  # and on a bank
    open_row: Banks
    holder: Banks  # 1 while an access waits for the row that it opened
    history: Annotated[Any, np.int64, (MOST_WINDOWS, MOST_BANKS, LONGEST_WINDOW)]  # earlier commands of a window's unit
    history_at: Annotated[Any, np.int64, (MOST_WINDOWS, MOST_BANKS)]
    bank_list: Banks  # the first access that is queued for a bank
    following: Entries  # the next one of its bank's list
    before: Entries
    need: Indices  # code of an access's next command
    bank: Indices
    row: Entries
    col: Entries
    write: Entries
    arrived: Entries
    burst: Entries
    owner: Entries
    counted: Entries
    free: Indices  # slots
    read_order: Order  # queued reads, oldest first
    write_order: Order
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


def record(layout: type) -> np.dtype[np.void]:
    """The record type of a class of integers and arrays of them."""
    hints = get_type_hints(layout, include_extras=True)
    return np.dtype([(name, *(get_args(kind)[1:] or (np.int64, ()))) for name, kind in hints.items()], align=True)


RULES, CHANNEL, LOG = map(record, (Rules, Channel, Log))
