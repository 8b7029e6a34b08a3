"""The bursts that one channel has of a strided region, in order.

A run covers every burst that it touches; when its first burst is the last one of the run before it, that burst is not
moved again. burst = address / burst bytes, block = burst / interleave, channel = block mod channels; the bursts of a
channel are numbered in address order.
"""

from __future__ import annotations

from archsim.kernels import njit
from archsim.memory.dram.kernel.layout import NONE
from archsim.memory.dram.kernel.transfers import Cursor, Spread, Transfer


@njit
def rewind(spread: Spread, number: int, transfer: Transfer, cursor: Cursor) -> None:
    """Put the cursor of channel ``number`` before the first burst of the region; an empty region has none."""
    cursor.index = 0
    cursor.run_address = transfer.address
    cursor.last_burst = NONE
    cursor.local = cursor.stop = 0
    if transfer.run_bytes > 0:
        _open_run(spread, number, transfer, cursor)


@njit
def seek(spread: Spread, number: int, transfer: Transfer, cursor: Cursor) -> bool:
    """Go to the next run that has a burst for the channel; False at the end of the region."""
    while cursor.local >= cursor.stop:
        cursor.index += 1
        cursor.run_address += transfer.stride
        if cursor.index >= transfer.extent and not _carry(transfer, cursor):
            return False
        _open_run(spread, number, transfer, cursor)
    return True


@njit
def count(spread: Spread, transfer: Transfer, cursor: Cursor) -> int:
    """All bursts that channel 0 has of a region."""
    bursts = 0
    rewind(spread, 0, transfer, cursor)
    while seek(spread, 0, transfer, cursor):
        bursts += cursor.stop - cursor.local
        cursor.local = cursor.stop
    return bursts


@njit
def _open_run(spread: Spread, number: int, transfer: Transfer, cursor: Cursor) -> None:
    first = cursor.run_address >> spread.burst_bits
    last = (cursor.run_address + transfer.run_bytes - 1) >> spread.burst_bits
    if first == cursor.last_burst:
        first += 1
    cursor.last_burst = last
    cursor.local = _bursts_below(spread, first, number)
    cursor.stop = _bursts_below(spread, last + 1, number)


@njit
def _bursts_below(spread: Spread, burst: int, number: int) -> int:
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
def _carry(transfer: Transfer, cursor: Cursor) -> bool:
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
