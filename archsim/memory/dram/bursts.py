"""Kernel part: the bursts one channel takes of a strided region, in order (rules 1 and 2 of open_row)."""

from __future__ import annotations

from archsim.kernels import njit
from archsim.memory.dram.records import Active, Channel, Cursor, Cycles

NO_GRANULE = -1


@njit
def rewind(t: Cycles, channel: Channel, transfer: Active, cursor: Cursor) -> None:
    """Put the cursor before the first burst of the region; an empty region has none."""
    cursor.index = 0
    cursor.run_address = transfer.address
    cursor.last_granule = NO_GRANULE
    cursor.local = cursor.stop = 0
    if transfer.run_bytes > 0:
        _open_run(t, channel, transfer, cursor)


@njit
def seek(t: Cycles, channel: Channel, transfer: Active, cursor: Cursor) -> bool:
    """Go to the next run that has a burst for the channel; False at the end of the region."""
    while cursor.local >= cursor.stop:
        cursor.index += 1
        cursor.run_address += transfer.stride
        if cursor.index >= transfer.extent and not _carry(transfer, cursor):
            return False
        _open_run(t, channel, transfer, cursor)
    return True


@njit
def _open_run(t: Cycles, channel: Channel, transfer: Active, cursor: Cursor) -> None:
    first = cursor.run_address >> t.granule_bits
    last = (cursor.run_address + transfer.run_bytes - 1) >> t.granule_bits
    if first == cursor.last_granule:
        first += 1
    cursor.last_granule = last
    cursor.local = _bursts_below(t, first, channel.number)
    cursor.stop = _bursts_below(t, last + 1, channel.number)


@njit
def _bursts_below(t: Cycles, granule: int, c: int) -> int:
    """How many granules below ``granule`` belong to channel ``c``."""
    block = granule >> t.interleave_bits
    rounds = block // t.channels
    owner = block - rounds * t.channels
    bursts = rounds << t.interleave_bits
    if owner > c:
        return bursts + (1 << t.interleave_bits)
    if owner == c:
        return bursts + (granule & ((1 << t.interleave_bits) - 1))
    return bursts


@njit
def _carry(transfer: Active, cursor: Cursor) -> bool:
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
