"""The memory of the machine: channels fed by strided transfers, run beside the event loop.

The controller is that of the trace (select, issue, queues); what is added is how transfers come to its queues, which a
second implementation must share to be equal bit for bit:

1. Each channel keeps a ring of the transfers that read and one of those that write. A transfer with bursts on the
   channel joins the tail in the cycle in which it becomes visible (of one cycle, in order of submission).
2. In each cycle, after the command, each queue takes in up to INTAKE bursts while it has room: reads first, always from
   the head of its ring. A transfer that has had ``turn`` bursts in a row goes to the tail; with its last burst on the
   channel it leaves the ring.
3. A burst ends with its last beat, read_end or write_end cycles after its column command; one that is served from a
   queued write, or merged into one, as many cycles after it was taken in. A transfer ends with the last end of its
   bursts; an empty one when it becomes visible.
4. A transfer of which at most so many bursts or rows may be under way leaves the ring when it is its turn and its next
   burst may not be asked for yet (compiled/intake.py says when); it joins the tail again in the cycle from which it may
   be, behind the transfers that become visible in it (of one cycle, in order of submission).
5. So does a transfer whose askers do not offer its next burst yet (compiled/intake.py); it may join again in a later
   round of the same cycle.

Between completions channels do not know of one another, so each may run alone as far as no transfer can end
(compiled/bounds.py); with requests that wait for ends no further than to where the next burst can end, for none that is
taken in or issued in cycle c ends before c + shortest; and with askers no further than the cycle.
"""

from __future__ import annotations

from typing import Any

from archsim.base import served
from archsim.base.addressed import value_at
from archsim.base.jit import addressed, inlined, njit
from archsim.memory.dram.compiled.bounds import soonest
from archsim.memory.dram.compiled.clock import cycle, edge
from archsim.memory.dram.compiled.intake import accept, ended, pace
from archsim.memory.dram.compiled.issue import tick
from archsim.memory.dram.compiled.queues import QUEUED, has_room, release, take_in
from archsim.memory.dram.compiled.records import (
    CONFLICT,
    HIT,
    INTAKE,
    MOVED,
    NEVER,
    NONE,
    NOW_PS,
    OPENED,
    OWNER_BITS,
    TRACES,
    AddressSpread,
    ChannelFeed,
    ChannelRecord,
    CommandLog,
    DramRules,
    DramState,
)
from archsim.memory.dram.compiled.regions import seek
from archsim.memory.dram.compiled.rings import (
    admit,
    first_completion,
    insert_ending,
    look_ahead,
    next_place,
    next_turn,
    park,
    rejoin,
    remove_head,
)
from archsim.memory.dram.compiled.select import next_at, plan, skip, suspend
from archsim.memory.dram.compiled.slots import collect


@addressed
@njit
def advance(kind: Any, table: int, until_ps: int, _: int, __: int) -> int:
    """Run to the first instant up to ``until_ps`` with completions; how many, or that there is no room for them."""
    state = value_at(kind, table)
    if state.header[TRACES] and state.header[MOVED] + state.transfers.size > len(state.moved):
        return served.NO_ROOM
    rules, spread = state.rules[0], state.spread[0]
    channels, feeds, transfers = state.channels, state.feeds, state.transfers
    cursors, ending, words = state.cursors, state.ending, state.words
    until = cycle(spread, until_ps + 1) - 1
    _look_ahead(state, spread)
    horizon = _horizon(state, spread, first_completion(transfers, ending), until)
    while horizon >= 0:
        for c in range(feeds.size):
            if spread.offers:
                _look_at(state, spread, c)
            if feeds[c].next_at <= horizon:
                feed, log = feeds[c], state.logs[c]
                _serve(rules, spread, words, channels[c], feed, transfers, cursors[c], ending, log, horizon)
        _look_ahead(state, spread)
        horizon = _horizon(state, spread, first_completion(transfers, ending), until)
    count = collect(state, spread, until)
    state.header[NOW_PS] = state.completions[0, served.TIME_PS] if count else until_ps
    next_end = NEVER
    if spread.under_way:
        next_end = min(soonest(state, spread, _first_event(feeds)), first_completion(transfers, ending))
    state.header[served.NEXT_PS] = edge(spread, next_end)
    return count


@njit
def _horizon(state: DramState, spread: AddressSpread, completion: int, until: int) -> int:
    """The cycle up to which channels may run unordered, or -1 when nothing may happen before a completion."""
    limit = min(until, completion)
    first = _first_event(state.feeds)
    if first > limit:
        return -1
    if spread.under_way == 0:
        return limit
    if spread.offers:
        return first
    if spread.paced != NONE:
        return min(limit, first + spread.shortest - 1)
    return min(limit, soonest(state, spread, first) - 1)


@njit
def _first_event(feeds: Any) -> int:
    first = NEVER
    for c in range(feeds.size):
        first = min(first, feeds[c].next_at)
    return first


@njit
def _look_ahead(state: DramState, spread: AddressSpread) -> None:
    """Find the times of requests that are known by now, and when channels can go on with them."""
    if spread.paced == NONE and spread.offers == 0:
        return
    pace(spread, state.words, state.transfers)
    for c in range(state.feeds.size):
        _look_at(state, spread, c)


@njit
def _look_at(state: DramState, spread: AddressSpread, c: int) -> None:
    """When a channel can go on with what is parked."""
    feed = state.feeds[c]
    if feed.parked != NONE:
        look_ahead(spread, state.words, feed, state.transfers, state.cursors[c])
        feed.next_at = min(feed.next_at, feed.release_at)


@njit
def _serve(
    rules: DramRules,
    spread: AddressSpread,
    words: Any,
    ch: ChannelRecord,
    feed: ChannelFeed,
    transfers: Any,
    cursors: Any,
    ending: Any,
    log: CommandLog,
    horizon: int,
) -> None:
    """Run one channel up to ``horizon``, before which no transfer ends that is not known to."""
    while feed.next_at <= horizon:
        now = _due(rules, ch, feed, log, horizon)
        if feed.planned == now:
            slot = tick(rules, ch, log, now)
            if slot != NONE:
                _finish(rules, words, ch, transfers, ending, slot, now)
            feed.planned = NONE
        feed.take_at = NEVER
        if feed.pending_head != NONE:
            admit(feed, transfers, cursors, now)
            if feed.pending_head != NONE:
                feed.take_at = transfers[feed.pending_head].visible
        if feed.release_at <= now:
            rejoin(spread, words, feed, transfers, cursors, now)
        _take(rules, spread, words, ch, feed, transfers, cursors, ending, now)
        if feed.planned == NONE:
            _plan_later(rules, spread, ch, feed, now + 1)
        feed.next_at = min(feed.planned, feed.plan_at, ch.refresh_due, feed.take_at, feed.release_at)


@inlined
def _due(rules: DramRules, ch: ChannelRecord, feed: ChannelFeed, log: CommandLog, horizon: int) -> int:
    """The cycle of the channel's next event; refreshes that are due in it are asked for, and what waits is planned."""
    now = feed.next_at
    if ch.refresh_due <= now:
        if log.limit == 0 and _is_idle(feed):
            skip(rules, ch, horizon)
        now = max(now, ch.refresh_due)
    elif feed.plan_at > now:
        return now
    feed.plan_at = NEVER
    _plan(rules, ch, feed, now)
    return now


@inlined
def _plan_later(rules: DramRules, spread: AddressSpread, ch: ChannelRecord, feed: ChannelFeed, now: int) -> None:
    """Find the next command, from cycle ``now`` on; in that cycle, where more may yet be taken in before it."""
    if spread.offers:
        feed.planned, feed.plan_at = NEVER, now
    else:
        _plan(rules, ch, feed, now)


@inlined
def _plan(rules: DramRules, ch: ChannelRecord, feed: ChannelFeed, now: int) -> None:
    """Find the next command, from cycle ``now`` on."""
    plan(rules, ch, now)
    feed.planned = next_at(rules, ch)


@addressed
@njit
def realign(kind: Any, table: int, now: int, _: int, __: int) -> int:
    """Let refresh begin anew at cycle ``now`` on idle channels: none is pending, the first is an interval away. 0."""
    state = value_at(kind, table)
    rules = state.rules[0]
    for c in range(state.feeds.size):
        ch, feed = state.channels[c], state.feeds[c]
        ch.refresh_asked = ch.refresh_done = 0
        ch.refresh_due = now + rules.refresh_interval
        suspend(rules, ch)
        _plan(rules, ch, feed, now + 1)
        feed.next_at = min(feed.planned, ch.refresh_due)
    return 0


@inlined
def _ends(rules: DramRules, words: Any, transfer: Any, place: int, now: int) -> None:
    """A burst ends as if its column command were issued in cycle ``now``."""
    end = now + (rules.write_end if transfer.write else rules.read_end)
    transfer.first_beat = min(transfer.first_beat, end - rules.burst)
    transfer.last_beat = max(transfer.last_beat, end)
    if transfer.most:
        ended(words, transfer, place, end)


@inlined
def _finish(rules: DramRules, words: Any, ch: ChannelRecord, transfers: Any, ending: Any, slot: int, now: int) -> None:
    """A burst has had its column command."""
    owner = ch.owner[slot] & ((1 << OWNER_BITS) - 1)
    transfer = transfers[owner]
    _ends(rules, words, transfer, ch.owner[slot] >> OWNER_BITS, now)
    counted = ch.counted[slot]
    transfer.activates += counted // OPENED
    if counted % OPENED == HIT:
        transfer.hits += 1
    elif counted % OPENED == CONFLICT:
        transfer.conflicts += 1
    else:
        transfer.misses += 1
    release(ch, slot)
    transfer.queued -= 1
    if transfer.queued == 0 and transfer.open_channels == 0:
        insert_ending(transfers, ending, owner)


@inlined
def _take(
    rules: DramRules,
    spread: AddressSpread,
    words: Any,
    ch: ChannelRecord,
    feed: ChannelFeed,
    transfers: Any,
    cursors: Any,
    ending: Any,
    now: int,
) -> None:
    """Take bursts in from the rings, as far as there is room."""
    limited = spread.offers > 0
    for write in range(2):
        left = _room(feed, write, now) if limited else INTAKE
        while feed.tails[write] != NONE and has_room(rules, ch, write):
            if left == 0:
                feed.take_at = now + 1
                break
            slot = cursors[feed.tails[write]].following
            transfer, cursor = transfers[slot], cursors[slot]
            place = next_place(spread, words, feed, transfer, cursor, now)
            if place == NONE:
                remove_head(feed, cursors, write)
                park(feed, transfers, cursors, slot)
                continue
            left -= 1
            accept(spread, words, transfer, now)
            if take_in(rules, ch, now, write, cursor.local, slot + (place << OWNER_BITS)) == QUEUED:
                transfer.queued += 1
                feed.planned = NONE
            else:
                _ends(rules, words, transfer, place, now)
            cursor.local += 1
            feed.turns[write] += 1
            if cursor.local >= cursor.stop and not seek(spread, words, feed.number, transfer, cursor):
                remove_head(feed, cursors, write)
                transfer.open_channels -= 1
                if transfer.open_channels == 0 and transfer.queued == 0:
                    insert_ending(transfers, ending, slot)
            elif feed.turns[write] >= spread.turn:
                next_turn(feed, cursors, write)
        feed.room[write] = left


@njit
def _room(feed: ChannelFeed, write: int, now: int) -> int:
    """What a queue may still take in in this cycle, of which there may have been rounds."""
    if feed.room_at != now:
        feed.room_at, feed.room[0], feed.room[1] = now, INTAKE, INTAKE
    left: int = feed.room[write]
    return left


@inlined
def _is_idle(feed: ChannelFeed) -> bool:
    """No transfer has a burst that is still to come to the channel's queues."""
    rings = feed.tails[0] == NONE and feed.tails[1] == NONE
    return rings and feed.pending_head == NONE and feed.parked == NONE
