"""What those who ask for bursts offer to the queues: so many a cycle, over all channels together, in their order.

The bursts of an asker are numbered through all of its transfers, in order of submission. Burst s may be taken in from
the cycle in which burst s - 1 is taken in: a full queue stops the whole stream, whatever the channels behind it. Nor
is it offered before burst s - ``requests`` was taken in: at the asker's first edge at or after that, which the memory
sees at its first edge after it. So at most ``requests`` enter in a cycle of the slower of the two clocks.

What one channel takes in says when the next one may go on, in the same cycle: while such bursts are under way, channels
run cycle by cycle, in rounds over them in order of their numbers until none takes anything more in that cycle.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.base.units import PS_PER_S
from archsim.memory.dram.kernel.layout import NEVER, NONE
from archsim.memory.dram.kernel.pace import scaled
from archsim.memory.dram.kernel.transfers import (
    ASKER,
    ASKERS,
    HZ,
    READY,
    REQUESTS,
    TAKEN,
    TOTAL,
    Spread,
    Transfer,
)


@njit
def enlist(spread: Spread, words: Any, transfer: Transfer) -> None:
    """The bursts of a transfer come behind all that its askers have offered so far."""
    if transfer.bursts == 0:
        return
    spread.offers += transfer.bursts
    for i in range(ASKERS):
        asker = transfer.askers[i]
        if asker != NONE:
            transfer.bases[i] = words[asker + TOTAL]
            words[asker + TOTAL] += transfer.bursts


@njit
def offered(words: Any, transfer: Transfer, burst: int) -> int:
    """From which cycle on a burst of a transfer may be taken in; NEVER while those before it have not been."""
    at = 0
    for i in range(ASKERS):
        asker = transfer.askers[i]
        if asker != NONE:
            at = max(at, words[asker + READY] if transfer.bases[i] + burst == words[asker + TAKEN] else NEVER)
    return at


@inlined
def accept(spread: Spread, words: Any, transfer: Transfer, now: int) -> None:
    """A burst is taken in: the next one of its askers, if it has any."""
    if transfer.bursts:
        _accept(spread, words, transfer, now)


@njit
def _accept(spread: Spread, words: Any, transfer: Transfer, now: int) -> None:
    spread.offers -= 1
    for i in range(ASKERS):
        if transfer.askers[i] != NONE:
            _count(spread, words, transfer.askers[i], now)


@inlined
def _count(spread: Spread, words: Any, asker: int, now: int) -> None:
    requests, hz, taken = words[asker + REQUESTS], words[asker + HZ], words[asker + TAKEN]
    words[asker + ASKER + taken % requests] = now
    taken += 1
    ready = now
    if taken >= requests:
        before = words[asker + ASKER + taken % requests]
        edge = scaled(scaled(before, PS_PER_S, spread.clock_hz, False), hz, PS_PER_S, True)
        ready = max(now, scaled(scaled(edge, PS_PER_S, hz, False) + 1, spread.clock_hz, PS_PER_S, True))
    words[asker + TAKEN], words[asker + READY] = taken, ready
