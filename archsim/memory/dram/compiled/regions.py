"""The bursts that one channel has of a strided region or of a list of rows, in order.

A run covers every burst that it touches; when its first burst is the last one of the run before it (in a list: of the
same row), that burst is not moved again. burst = address / burst bytes, block = burst / interleave, channel = block mod
channels; the bursts of a channel are numbered in address order.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import entry, inlined, njit
from archsim.memory.dram.compiled.records import NONE, RUN, AddressSpread, BurstCursor, TransferRecord


@njit
def rewind(spread: AddressSpread, words: Any, number: int, transfer: TransferRecord, cursor: BurstCursor) -> None:
    """Put the cursor of channel ``number`` before the first burst of the region; an empty region has none."""
    cursor.index = 0
    cursor.run_address = transfer.address
    cursor.last_burst = NONE
    cursor.next_number = 0
    cursor.local = cursor.stop = 0
    if transfer.runs != NONE:
        if transfer.extent > 0:
            _open_listed(spread, words, number, transfer, cursor)
    elif transfer.run_bytes > 0:
        _open_run(spread, number, cursor, transfer.run_bytes)


@njit
def seek(spread: AddressSpread, words: Any, number: int, transfer: TransferRecord, cursor: BurstCursor) -> bool:
    """Go to the next run that has a burst for the channel; False at the end of the region."""
    while cursor.local >= cursor.stop:
        cursor.index += 1
        if transfer.runs != NONE:
            if cursor.index >= transfer.extent:
                return False
            _open_listed(spread, words, number, transfer, cursor)
            continue
        cursor.run_address += transfer.stride
        if cursor.index >= transfer.extent and not _carry(transfer, cursor):
            return False
        _open_run(spread, number, cursor, transfer.run_bytes)
    return True


@njit
def bursts_of(spread: AddressSpread, words: Any, transfer: TransferRecord, cursor: BurstCursor) -> int:
    """All bursts of a region or a list; the cursor is one of channel 0, and to be put back."""
    rewind(spread, words, 0, transfer, cursor)
    while seek(spread, words, 0, transfer, cursor):
        cursor.local = cursor.stop
    bursts: int = cursor.next_number
    return bursts


@entry
@njit
def count(spreads: Any, words: Any, transfers: Any, cursors: Any) -> int:
    """All bursts of a region, for Python, which has its records in arrays of one."""
    return bursts_of(spreads[0], words, transfers[0], cursors[0])


@inlined
def request(spread: AddressSpread, words: Any, number: int, transfer: TransferRecord, cursor: BurstCursor) -> int:
    """Which request of its transfer the next burst belongs to: its row, or itself in order over all channels."""
    if transfer.runs != NONE:
        row: int = words[transfer.runs + RUN * cursor.index + 2]
        return row
    return position(spread, number, cursor)


@inlined
def position(spread: AddressSpread, number: int, cursor: BurstCursor) -> int:
    """The number of the next burst among all of its transfer's."""
    bits = spread.interleave_bits
    block = (cursor.local >> bits) * spread.channels + number
    burst = (block << bits) + (cursor.local & ((1 << bits) - 1))
    return cursor.run_number + burst - cursor.run_first


@njit
def _open_listed(spread: AddressSpread, words: Any, number: int, transfer: TransferRecord, cursor: BurstCursor) -> None:
    at = transfer.runs + RUN * cursor.index
    if cursor.index > 0 and words[at + 2] != words[at + 2 - RUN]:
        cursor.last_burst = NONE
    cursor.run_address = words[at]
    _open_run(spread, number, cursor, words[at + 1])


@njit
def _open_run(spread: AddressSpread, number: int, cursor: BurstCursor, run_bytes: int) -> None:
    first = cursor.run_address >> spread.burst_bits
    last = (cursor.run_address + run_bytes - 1) >> spread.burst_bits
    if first == cursor.last_burst:
        first += 1
    cursor.last_burst = last
    cursor.run_first, cursor.run_number = first, cursor.next_number
    cursor.next_number += last + 1 - first
    cursor.local = _bursts_below(spread, first, number)
    cursor.stop = _bursts_below(spread, last + 1, number)


@njit
def _bursts_below(spread: AddressSpread, burst: int, number: int) -> int:
    """How many bursts below ``burst`` belong to channel ``number``."""
    block = burst >> spread.interleave_bits
    rounds = block // spread.channels
    owner = block - rounds * spread.channels
    bursts = rounds << spread.interleave_bits
    if owner > number:
        return bursts + (1 << spread.interleave_bits)
    if owner == number:
        return bursts + (burst & ((1 << spread.interleave_bits) - 1))
    return bursts


@njit
def _carry(transfer: TransferRecord, cursor: BurstCursor) -> bool:
    """The innermost loop is through: step the outer loops; False at the end of the region."""
    cursor.run_address -= transfer.extent * transfer.stride
    cursor.index = 0
    for loop in range(cursor.outer_indices.size - 1, -1, -1):
        cursor.outer_indices[loop] += 1
        cursor.run_address += transfer.outer_strides[loop]
        if cursor.outer_indices[loop] < transfer.outer_extents[loop]:
            return True
        cursor.run_address -= transfer.outer_extents[loop] * transfer.outer_strides[loop]
        cursor.outer_indices[loop] = 0
    return False
