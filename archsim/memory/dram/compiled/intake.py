"""When a transfer's requests come to the queues: how many it may have under way, and how many its askers offer a cycle.

*Under way.* A request is a burst of a move or a row of a list. Request i is not asked for before request i - 1, nor
before request i - ``most`` has ended. A burst may be taken in from the cycle in which the one before it in that sense
has its last beat. An engine asks for a row at an edge of its own clock: ``setup`` edges after the row before it, and
not before the first edge at or after the end that it waits for; the row is visible at the DRAM's first edge after that.

What ends inside a span in which channels run unordered had its column command before that span, so times are found
between spans, and channels do not depend on one another inside one.

*Offered.* An asker offers so many bursts a cycle, over all channels together. They are numbered through all of its
transfers, in order of submission. Burst s may be taken in from the cycle in which burst s - 1 is taken in: a full queue
stops the whole stream, whatever the channels behind it. Nor is it offered before burst s - ``requests`` was taken in:
at the asker's first edge at or after that, which the memory sees at its first edge after it. So at most ``requests``
enter in a cycle of the slower of the two clocks.

What one channel takes in says when the next one may go on, in the same cycle: while such bursts are under way, channels
run cycle by cycle, in rounds over them in order of their numbers until none takes anything more in that cycle.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.base.units import PS_PER_S
from archsim.memory.dram.compiled.clock import scaled
from archsim.memory.dram.compiled.records import (
    ASKER,
    ASKERS,
    HZ,
    NEVER,
    NONE,
    READY,
    REQUEST_WORDS,
    REQUESTS,
    TAKEN,
    TOTAL,
    AddressSpread,
    TransferRecord,
)


@njit
def pace(spread: AddressSpread, words: Any, transfers: Any) -> None:
    """Give requests their times as far as they are known; transfers that need no more leave the list."""
    before, slot = NONE, spread.paced
    while slot != NONE:
        transfer = transfers[slot]
        _ask(spread, words, transfer)
        if transfer.asked == transfer.total or (transfer.runs == NONE and transfer.open_channels == 0):
            if before == NONE:
                spread.paced = transfer.following
            else:
                transfers[before].following = transfer.following
        else:
            before = slot
        slot = transfer.following


@njit
def _ask(spread: AddressSpread, words: Any, transfer: TransferRecord) -> None:
    while transfer.asked < transfer.total:
        at = transfer.requests + REQUEST_WORDS * (transfer.asked % transfer.most)
        ended = 0
        if transfer.asked >= transfer.most:
            if words[at + 1] > 0:
                return
            ended = words[at + 2]
        size = 1
        if transfer.runs == NONE:
            transfer.asked_cycle = max(transfer.asked_cycle, ended)
        else:
            size = words[transfer.sizes + transfer.asked]
            _ask_row(spread, transfer, ended)
        words[at], words[at + 1], words[at + 2] = transfer.asked_cycle, size, 0
        transfer.asked += 1


@njit
def _ask_row(spread: AddressSpread, transfer: TransferRecord, ended: int) -> None:
    """The time of the next row, where the one that it waits for ended in cycle ``ended``."""
    hz = transfer.engine_hz
    edge = scaled(transfer.asked_ps, hz, PS_PER_S, True) + transfer.setup
    if ended:
        edge = max(edge, scaled(scaled(ended, PS_PER_S, spread.clock_hz, False), hz, PS_PER_S, True))
    asked_ps = scaled(edge, PS_PER_S, hz, False)
    if asked_ps != transfer.asked_ps or transfer.asked == 0:
        transfer.asked_ps = asked_ps
        transfer.asked_cycle = scaled(asked_ps + 1, spread.clock_hz, PS_PER_S, True)


@inlined
def known(words: Any, transfer: TransferRecord, number: int) -> int:
    """From which cycle a request may be asked for; NEVER while that is not known."""
    if number >= transfer.asked:
        return NEVER
    at: int = words[transfer.requests + REQUEST_WORDS * (number % transfer.most)]
    return at


@inlined
def ended(words: Any, transfer: TransferRecord, place: int, end: int) -> None:
    """A burst of the request at ``place`` has its last beat in cycle ``end``."""
    at = transfer.requests + REQUEST_WORDS * place
    words[at + 1] -= 1
    words[at + 2] = max(words[at + 2], end)


@njit
def enlist(spread: AddressSpread, words: Any, transfer: TransferRecord) -> None:
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
def offered(words: Any, transfer: TransferRecord, burst: int) -> int:
    """From which cycle on a burst of a transfer may be taken in; NEVER while those before it have not been."""
    at = 0
    for i in range(ASKERS):
        asker = transfer.askers[i]
        if asker != NONE:
            at = max(at, words[asker + READY] if transfer.bases[i] + burst == words[asker + TAKEN] else NEVER)
    return at


@inlined
def accept(spread: AddressSpread, words: Any, transfer: TransferRecord, now: int) -> None:
    """A burst is taken in: the next one of its askers, if it has any."""
    if transfer.bursts:
        _accept(spread, words, transfer, now)


@njit
def _accept(spread: AddressSpread, words: Any, transfer: TransferRecord, now: int) -> None:
    spread.offers -= 1
    for i in range(ASKERS):
        if transfer.askers[i] != NONE:
            _count(spread, words, transfer.askers[i], now)


@inlined
def _count(spread: AddressSpread, words: Any, asker: int, now: int) -> None:
    requests, hz, taken = words[asker + REQUESTS], words[asker + HZ], words[asker + TAKEN]
    words[asker + ASKER + taken % requests] = now
    taken += 1
    ready = now
    if taken >= requests:
        before = words[asker + ASKER + taken % requests]
        edge = scaled(scaled(before, PS_PER_S, spread.clock_hz, False), hz, PS_PER_S, True)
        ready = max(now, scaled(scaled(edge, PS_PER_S, hz, False) + 1, spread.clock_hz, PS_PER_S, True))
    words[asker + TAKEN], words[asker + READY] = taken, ready
