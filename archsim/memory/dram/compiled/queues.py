"""The queues of a channel: taking accesses in, forwarding, merging, and what each queued access needs next."""

from __future__ import annotations

from archsim.base.jit import inlined, njit
from archsim.memory.dram.compiled.records import (
    BANK_BITS,
    CHUNK_BITS,
    CHUNKS,
    CLOSING,
    COLUMN,
    COLUMN_BITS,
    HASHES,
    MOST_BANKS,
    MOST_ENTRIES,
    NEEDS,
    NONE,
    OPENING,
    PRE,
    RD,
    SLOT_BITS,
    UNSIGNED,
    ChannelRecord,
    DramRules,
)
from archsim.memory.dram.compiled.timing import bank_of, code_of

QUEUED, FORWARDED, MERGED, FULL = range(4)


@inlined
def take_in(rules: DramRules, ch: ChannelRecord, now: int, write: int, burst: int, owner: int) -> int:
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
    bank = image & ((1 << BANK_BITS) - 1)
    ch.bank[slot] = bank
    ch.col[slot] = (image >> BANK_BITS) & ((1 << COLUMN_BITS) - 1)
    ch.row[slot] = image >> (BANK_BITS + COLUMN_BITS)
    _link(ch, slot, _ring(write, bank))
    _list_first(rules, ch, write, slot, bank)
    if write:
        ch.writes += 1
        ch.written[burst & (HASHES - 1)] += 1
    else:
        ch.reads += 1
    return QUEUED


@inlined
def has_room(rules: DramRules, ch: ChannelRecord, write: int) -> bool:
    """Whether an access can be queued."""
    if write:
        return ch.writes < rules.write_queue
    return ch.reads < rules.read_queue


@inlined
def _is_written(rules: DramRules, ch: ChannelRecord, burst: int) -> bool:
    slot = ch.following[_ring(1, _image(rules, burst) & ((1 << BANK_BITS) - 1))]
    while slot < MOST_ENTRIES:
        if ch.burst[slot] == burst:
            return True
        slot = ch.following[slot]
    return False


@inlined
def _image(rules: DramRules, burst: int) -> int:
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
def _link(ch: ChannelRecord, slot: int, ring: int) -> None:
    """The youngest of its ring."""
    last = ch.before[ring]
    ch.following[slot], ch.before[slot] = ring, last
    ch.following[last] = ch.before[ring] = slot


@inlined
def needed(ch: ChannelRecord, slot: int) -> int:
    """What an access needs next, if its bank is not held for another row."""
    open_row = ch.open_row[ch.bank[slot]]
    if open_row == ch.row[slot]:
        return COLUMN
    return OPENING if open_row == NONE else CLOSING


@inlined
def _list(rules: DramRules, ch: ChannelRecord, queue: int, need: int, bank: int, age: int) -> None:
    """Enter the oldest access that needs something of a bank, or the one that is now."""
    place = ch.places[queue, need, bank]
    if place == 0:
        ch.listed[queue] += 1
        place = ch.listed[queue]
        ch.places[queue, need, bank] = place
        command = RD + queue if need == COLUMN else PRE - CLOSING + need
        ch.codes[queue, place - 1], ch.needs[queue, place - 1] = code_of(rules, command, bank), need
    ch.ages[queue, place - 1] = age


@inlined
def _list_first(rules: DramRules, ch: ChannelRecord, queue: int, slot: int, bank: int) -> bool:
    """Enter an access that is younger than all considered of its queue and bank, if it is the first of its need."""
    need = needed(ch, slot)
    if ch.places[queue, need, bank] or ch.refreshing[bank] or (need != COLUMN and ch.holder[bank]):
        return False
    _list(rules, ch, queue, need, bank, ch.age[slot])
    return True


@inlined
def _unlist(rules: DramRules, ch: ChannelRecord, queue: int, need: int, bank: int) -> None:
    """No access needs it any more: the last of the list takes its place."""
    place = ch.places[queue, need, bank]
    if place == 0:
        return
    ch.places[queue, need, bank] = 0
    last = ch.listed[queue]
    ch.listed[queue] = last - 1
    if place != last:
        code, moved = ch.codes[queue, last - 1], ch.needs[queue, last - 1]
        ch.codes[queue, place - 1], ch.needs[queue, place - 1] = code, moved
        ch.ages[queue, place - 1] = ch.ages[queue, last - 1]
        ch.places[queue, moved, bank_of(rules, code)] = place


@inlined
def leave(ch: ChannelRecord, slot: int) -> None:
    """Take an access out of its queue."""
    before, following = ch.before[slot], ch.following[slot]
    ch.following[before], ch.before[following] = following, before
    if ch.write[slot]:
        ch.writes -= 1
        ch.written[ch.burst[slot] & (HASHES - 1)] -= 1
    else:
        ch.reads -= 1


@njit
def leave_open(rules: DramRules, ch: ChannelRecord, slot: int) -> None:
    """Take an access out of its queue whose row is open; the next one to the row is listed."""
    leave(ch, slot)
    queue, bank, row, following = ch.write[slot], ch.bank[slot], ch.row[slot], ch.following[slot]
    while following < MOST_ENTRIES and ch.row[following] != row:
        following = ch.following[following]
    if following < MOST_ENTRIES:
        _list(rules, ch, queue, COLUMN, bank, ch.age[following])
    else:
        _unlist(rules, ch, queue, COLUMN, bank)


@inlined
def leave_active(ch: ChannelRecord, slot: int) -> None:
    """Take an access out of the active buffer."""
    ch.active -= 1
    moving = False
    for i in range(UNSIGNED(ch.active)):
        moving |= ch.active_order[i] == slot
        if moving:
            ch.active_order[i] = ch.active_order[i + UNSIGNED(1)]


@njit
def is_wanted(ch: ChannelRecord, bank: int, row: int) -> bool:
    """Whether a queued access goes to a row."""
    for queue in range(2):
        slot = ch.following[_ring(queue, bank)]
        while slot < MOST_ENTRIES:
            if ch.row[slot] == row:
                return True
            slot = ch.following[slot]
    return False


@inlined
def release(ch: ChannelRecord, slot: int) -> None:
    """Give a slot back."""
    ch.free[ch.free_slots] = slot
    ch.free_slots += 1


@njit
def reconsider(rules: DramRules, ch: ChannelRecord, low: int, high: int) -> None:
    """List anew what the accesses queued for banks [low, high) need."""
    for bank in range(low, high):
        for queue in range(2):
            ring = _ring(queue, bank)
            for need in range(NEEDS):
                _unlist(rules, ch, queue, need, bank)
            wanted = (ch.open_row[bank] != NONE) + (not ch.holder[bank])
            slot = ch.following[ring]
            while wanted and slot < MOST_ENTRIES and not ch.refreshing[bank]:
                wanted -= _list_first(rules, ch, queue, slot, bank)
                slot = ch.following[slot]
