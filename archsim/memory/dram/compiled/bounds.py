"""Before when no transfer under way ends.

A transfer has some bursts left that need a column command of their own. Of n of them on C channels one channel has
n / C, rounded up, and column commands of a channel are ``gap`` cycles apart. What is left is known of a transfer that
shares no burst with a write under way: a queued write serves reads and absorbs writes of its burst, and it is queued no
longer than its transfer is under way. What is found holds until another transfer comes.
"""

from __future__ import annotations

from archsim.base.jit import inlined, njit
from archsim.memory.dram.compiled.records import NEVER, AddressSpread, DramState, TransferRecord

_MOST = 64  # transfers under way of which each is looked at


@inlined
def least_end(spread: AddressSpread, transfer: TransferRecord, now: int) -> int:
    """The cycle before which a transfer does not end, of which nothing happens before cycle ``now``."""
    if transfer.open_channels == 0 and transfer.queued == 0:
        return transfer.last_beat
    left = transfer.fewest - transfer.hits - transfer.misses - transfer.conflicts
    later = max(0, (left - 1) // spread.channels * spread.gap)
    return max(now, transfer.visible) + spread.shortest + later


@njit
def soonest(state: DramState, spread: AddressSpread, now: int) -> int:
    """The cycle before which none does, where no channel does anything before cycle ``now``."""
    slots = state.free
    if spread.under_way > _MOST:
        return now + spread.shortest
    found = NEVER
    for place in range(spread.free_slots, slots.size):
        found = min(found, least_end(spread, state.transfers[slots[place]], now))
    return max(found, now + spread.shortest)


@njit
def meet(state: DramState, spread: AddressSpread, transfer: TransferRecord) -> None:
    """A transfer comes: bursts that it shares with others, some of which are written, may need no command."""
    for place in range(spread.free_slots, state.free.size):
        other = state.transfers[state.free[place]]
        if other.order == transfer.order or not (transfer.write or other.write) or _apart(spread, transfer, other):
            continue
        if other.write:
            transfer.fewest = 0
        if transfer.write:
            other.fewest = 0


@inlined
def _apart(spread: AddressSpread, one: TransferRecord, other: TransferRecord) -> bool:
    """Whether two transfers lie in different bursts."""
    bits = spread.burst_bits
    first, last = one.address - one.below >> bits, one.address + one.above - 1 >> bits
    apart: bool = last < other.address - other.below >> bits or other.address + other.above - 1 >> bits < first
    return apart
