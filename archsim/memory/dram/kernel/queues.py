"""The queues of a channel: taking accesses in, forwarding, merging, and what each queued access needs next."""

from __future__ import annotations

import numpy as np

from archsim.kernels import inlined, njit
from archsim.memory.dram.kernel.layout import (
    ACT,
    BANK_BITS,
    BLOCKED,
    CHUNK_BITS,
    CHUNKS,
    COLUMN_BITS,
    HASHES,
    MOST_BANKS,
    MOST_ENTRIES,
    NEVER,
    NONE,
    PRE,
    RD,
    SLOT_BITS,
    Channel,
    Rules,
)
from archsim.memory.dram.kernel.timing import code_of

QUEUED, FORWARDED, MERGED, FULL = range(4)


@inlined
def take_in(rules: Rules, ch: Channel, now: int, write: int, burst: int, owner: int) -> int:
    """Queue an access at cycle ``now``, serve it from a queued write, merge it into one, or refuse it (FULL)."""
    if ch.writes and ch.written[burst & (HASHES - 1)] and _is_written(rules, ch, burst):
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
    ch.owner[slot], ch.counted[slot], ch.age[slot] = owner, 0, (ch.queued << SLOT_BITS) + slot
    ch.queued += 1
    image = _image(rules, burst)
    ch.bank[slot] = bank = image & ((1 << BANK_BITS) - 1)
    ch.col[slot] = (image >> BANK_BITS) & ((1 << COLUMN_BITS) - 1)
    ch.row[slot] = image >> (BANK_BITS + COLUMN_BITS)
    _link(ch, slot, _ring(write, bank))
    _need(rules, ch, slot, code_of(rules, _needed(ch, bank, ch.row[slot], write, _without(ch, bank)), bank))
    if write:
        ch.writes += 1
        ch.written[burst & (HASHES - 1)] += 1
    else:
        ch.reads += 1
    return QUEUED


@inlined
def has_room(rules: Rules, ch: Channel, write: int) -> bool:
    """Whether an access can be queued."""
    if write:
        return ch.writes < rules.write_queue
    return ch.reads < rules.read_queue


@inlined
def _is_written(rules: Rules, ch: Channel, burst: int) -> bool:
    slot = ch.following[_ring(1, _image(rules, burst) & ((1 << BANK_BITS) - 1))]
    while slot < MOST_ENTRIES:
        if ch.burst[slot] == burst:
            return True
        slot = ch.following[slot]
    return False


@inlined
def _image(rules: Rules, burst: int) -> int:
    """Bank, column and row of a burst: the XOR of the images of the chunks of its number."""
    image: int = 0
    for k in range(CHUNKS):
        image ^= rules.images[k, (burst >> (CHUNK_BITS * k)) & ((1 << CHUNK_BITS) - 1)]
    return image


@inlined
def _ring(queue: int, bank: int) -> int:
    """The entry that closes a ring."""
    return MOST_ENTRIES + queue * MOST_BANKS + bank


@inlined
def _link(ch: Channel, slot: int, ring: int) -> None:
    """The youngest of its ring."""
    last = ch.before[ring]
    ch.following[slot], ch.before[slot] = ring, last
    ch.following[last] = ch.before[ring] = slot


@inlined
def _without(ch: Channel, bank: int) -> int:
    """What an access needs whose row is not open."""
    if ch.holder[bank]:
        return BLOCKED
    return ACT if ch.open_row[bank] == NONE else PRE


@inlined
def _needed(ch: Channel, bank: int, row: int, write: int, otherwise: int) -> int:
    return RD + write if ch.open_row[bank] == row else otherwise


@inlined
def _need(rules: Rules, ch: Channel, slot: int, code: int) -> None:
    """Enter what an access needs that is younger than all entered of its queue and bank."""
    queue = ch.write[slot]
    ch.need[slot] = code
    if ch.oldest[queue, code] == NEVER:
        ch.oldest[queue, code] = ch.age[slot]
        ch.needed[queue, code >> rules.rank_bits] += 1


@njit
def leave(rules: Rules, ch: Channel, slot: int) -> None:
    """Take an access out of its queue."""
    queue, code, following = ch.write[slot], ch.need[slot], ch.following[slot]
    ch.following[ch.before[slot]], ch.before[following] = following, ch.before[slot]
    if ch.oldest[queue, code] == ch.age[slot]:
        while following < MOST_ENTRIES and ch.need[following] != code:
            following = ch.following[following]
        if following < MOST_ENTRIES:
            ch.oldest[queue, code] = ch.age[following]
        else:
            _forget(rules, ch, queue, code)
    if queue:
        ch.writes -= 1
        ch.written[ch.burst[slot] & (HASHES - 1)] -= 1
    else:
        ch.reads -= 1


@inlined
def _forget(rules: Rules, ch: Channel, queue: int, code: int) -> None:
    """No access of a queue needs a code any more."""
    if ch.oldest[queue, code] != NEVER:
        ch.oldest[queue, code] = NEVER
        ch.needed[queue, code >> rules.rank_bits] -= 1


@inlined
def leave_active(ch: Channel, slot: int) -> None:
    """Take an access out of the active buffer."""
    ch.active -= 1
    moving = False
    for i in range(np.uint64(ch.active)):
        moving |= ch.active_order[i] == slot
        if moving:
            ch.active_order[i] = ch.active_order[i + np.uint64(1)]


@njit
def is_wanted(ch: Channel, bank: int, row: int) -> bool:
    """Whether a queued access goes to a row."""
    for queue in range(2):
        slot = ch.following[_ring(queue, bank)]
        while slot < MOST_ENTRIES:
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
    for bank in range(low, high):
        otherwise = _without(ch, bank)
        for queue in range(2):
            ring = _ring(queue, bank)
            slot = ch.following[ring]
            if slot == ring:
                continue
            for command in (RD + queue, PRE, ACT, BLOCKED):
                _forget(rules, ch, queue, code_of(rules, command, bank))
            while slot < MOST_ENTRIES:
                _need(rules, ch, slot, code_of(rules, _needed(ch, bank, ch.row[slot], queue, otherwise), bank))
                slot = ch.following[slot]
