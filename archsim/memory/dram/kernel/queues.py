"""The queues of a channel: taking accesses in, forwarding, merging, and what each queued access needs next."""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined, njit
from archsim.memory.dram.kernel.layout import (
    ACT,
    BANK_BITS,
    BLOCKED,
    CHUNK_BITS,
    CHUNKS,
    COLUMN_BITS,
    HASHES,
    MOST_QUEUED,
    NONE,
    PRE,
    RD,
    READS,
    WRITES,
    Channel,
    Rules,
)

QUEUED, FORWARDED, MERGED, FULL = range(4)
LAST = 4 * MOST_QUEUED  # room of an order


@inlined
def take_in(rules: Rules, ch: Channel, now: int, write: int, burst: int, owner: int) -> int:
    """Queue an access at cycle ``now``, serve it from a queued write, merge it into one, or refuse it (FULL)."""
    if ch.writes and ch.written[burst & (HASHES - 1)] and _is_written(ch, burst):
        if write:
            ch.merged += 1
            return MERGED
        ch.forwarded += 1
        return FORWARDED
    if not has_room(rules, ch, write):
        return FULL
    ch.free_slots -= 1
    slot = ch.free[ch.free_slots]
    ch.write[slot], ch.burst[slot], ch.arrived[slot] = write, burst, now
    ch.owner[slot], ch.counted[slot] = owner, 0
    _locate(rules, ch, slot, burst)
    _link(ch, slot)
    code = _needed(rules, ch, slot)
    ch.need[slot] = code
    wants_row = code >= PRE << rules.bank_bits
    if write:
        if ch.writes_first + ch.writes == LAST:
            _to_front(ch.write_order, ch.writes_first, ch.writes)
            ch.writes_first = 0
        ch.write_order[ch.writes_first + ch.writes] = slot
        ch.writes += 1
        ch.write_rows += wants_row
        ch.written[burst & (HASHES - 1)] += 1
    else:
        if ch.reads_first + ch.reads == LAST:
            _to_front(ch.read_order, ch.reads_first, ch.reads)
            ch.reads_first = 0
        ch.read_order[ch.reads_first + ch.reads] = slot
        ch.reads += 1
        ch.read_rows += wants_row
    return QUEUED


@inlined
def has_room(rules: Rules, ch: Channel, write: int) -> bool:
    """Whether an access can be queued."""
    if write:
        return ch.writes < rules.write_queue
    return ch.reads < rules.read_queue


@inlined
def first_of(ch: Channel, source: int) -> int:
    """The position of the oldest access of a buffer in its order."""
    if source == READS:
        return ch.reads_first
    return ch.writes_first if source == WRITES else 0


@inlined
def _is_written(ch: Channel, burst: int) -> bool:
    found = False
    for i in range(ch.writes_first, ch.writes_first + ch.writes):
        found |= ch.burst[ch.write_order[i]] == burst
    return found


@inlined
def _locate(rules: Rules, ch: Channel, slot: int, burst: int) -> None:
    """Bank, row and column of a burst: the XOR of the images of the chunks of its number."""
    image = 0
    for k in range(CHUNKS):
        image ^= rules.images[k, (burst >> (CHUNK_BITS * k)) & ((1 << CHUNK_BITS) - 1)]
    ch.bank[slot] = image & ((1 << BANK_BITS) - 1)
    ch.col[slot] = (image >> BANK_BITS) & ((1 << COLUMN_BITS) - 1)
    ch.row[slot] = image >> (BANK_BITS + COLUMN_BITS)


@inlined
def _needed(rules: Rules, ch: Channel, slot: int) -> int:
    """The code of the next command of an access that is queued."""
    bank = ch.bank[slot]
    open_row = ch.open_row[bank]
    if open_row == ch.row[slot]:
        command = RD + ch.write[slot]
    elif ch.holder[bank]:
        command = BLOCKED
    elif open_row == NONE:
        command = ACT
    else:
        command = PRE
    code: int = (command << rules.bank_bits) + bank
    return code


@inlined
def _link(ch: Channel, slot: int) -> None:
    bank = ch.bank[slot]
    head = ch.bank_list[bank]
    ch.following[slot], ch.before[slot] = head, NONE
    if head != NONE:
        ch.before[head] = slot
    ch.bank_list[bank] = slot


@inlined
def _unlink(ch: Channel, slot: int) -> None:
    before, following = ch.before[slot], ch.following[slot]
    if before == NONE:
        ch.bank_list[ch.bank[slot]] = following
    else:
        ch.following[before] = following
    if following != NONE:
        ch.before[following] = before


@njit
def leave(rules: Rules, ch: Channel, slot: int, at: int) -> None:
    """Take the access at position ``at`` out of its queue."""
    wants_row = ch.need[slot] >= PRE << rules.bank_bits
    _unlink(ch, slot)
    if ch.write[slot]:
        ch.writes_first = _close_up(ch.write_order, ch.writes_first, at, ch.writes)
        ch.writes -= 1
        ch.write_rows -= wants_row
        ch.written[ch.burst[slot] & (HASHES - 1)] -= 1
    else:
        ch.reads_first = _close_up(ch.read_order, ch.reads_first, at, ch.reads)
        ch.reads -= 1
        ch.read_rows -= wants_row


@inlined
def leave_active(ch: Channel, at: int) -> None:
    """Take the access at position ``at`` out of the active buffer."""
    ch.active -= 1
    for i in range(at, ch.active):
        ch.active_order[i] = ch.active_order[i + 1]


@inlined
def _close_up(order: Any, first: int, at: int, count: int) -> int:
    """Move the fewer of those before and after position ``at`` into the gap; the new first."""
    if 2 * (at - first) < count:
        for i in range(at, first, -1):
            order[i] = order[i - 1]
        return first + 1
    for i in range(at, first + count - 1):
        order[i] = order[i + 1]
    return first


@inlined
def _to_front(order: Any, first: int, count: int) -> None:
    for i in range(count):
        order[i] = order[first + i]


@njit
def is_wanted(ch: Channel, bank: int, row: int) -> bool:
    """Whether a queued access goes to a row."""
    slot = ch.bank_list[bank]
    while slot != NONE:
        if ch.row[slot] == row:
            return True
        slot = ch.following[slot]
    return False


@inlined
def release(ch: Channel, slot: int) -> None:
    """Give a slot back."""
    ch.free[ch.free_slots] = slot
    ch.free_slots += 1


@njit
def reconsider(rules: Rules, ch: Channel, low: int, high: int) -> None:
    """Find anew what the accesses queued for banks [low, high) need."""
    limit = PRE << rules.bank_bits
    for bank in range(low, high):
        slot = ch.bank_list[bank]
        while slot != NONE:
            code = _needed(rules, ch, slot)
            change = int(code >= limit) - int(ch.need[slot] >= limit)
            ch.need[slot] = code
            if ch.write[slot]:
                ch.write_rows += change
            else:
                ch.read_rows += change
            slot = ch.following[slot]
