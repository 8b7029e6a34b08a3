"""Channels fed by a trace: requests in their order, each when it has arrived and its queue has room, so many a cycle.

A request that finds its queue full stops those behind it until the next cycle, whatever their channel.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import entry, inlined, njit
from archsim.memory.dram.compiled.issue import tick
from archsim.memory.dram.compiled.queues import FORWARDED, FULL, QUEUED, has_room, release, take_in
from archsim.memory.dram.compiled.records import (
    NEVER,
    NONE,
    UNSIGNED,
    ChannelRecord,
    CommandLog,
    DramRules,
    RequestRecord,
)
from archsim.memory.dram.compiled.select import next_at, plan, skip


@entry
@njit
def replay(
    all_rules: Any, channels: Any, requests: Any, per_cycle: int, progress: Any, planned: Any, logs: Any
) -> bool:
    """Serve requests until all are done (True) or a log may be full after the next cycle.

    ``all_rules``: an array of one DramRules, as Python calls entries with arrays.
    ``requests``: Request records; their times are filled in. ``per_cycle``: of them that are offered in a cycle, over
    all channels. ``progress``: requests taken in, requests done, cycle of the next event; at first 0. ``planned``: each
    channel's next command, at first NONE. ``logs``: a Log for each.
    """
    rules: DramRules = all_rules[0]
    taken, done, now, total, full = progress[0], progress[1], progress[2], requests.size, False
    while done < total and not full:
        for c in range(channels.size):
            if channels[c].refresh_due <= now and logs[c].limit == 0 and taken < total:
                skip(rules, channels[c], requests[UNSIGNED(taken)].arrival)
            if channels[c].refresh_due <= now:
                plan(rules, channels[c], now)
                planned[c] = next_at(rules, channels[c])
            if planned[c] == now:
                done += _end(rules, channels[c], requests, tick(rules, channels[c], logs[c], now), now)
                planned[c] = NONE
                full |= _is_full(logs[c])
        before = taken
        taken, queued = _take(rules, channels, requests, per_cycle, planned, taken, now)
        done += taken - before - queued
        soonest = _next(rules, channels, planned, now)
        if taken < total and _can_enter(rules, channels, requests[UNSIGNED(taken)]):
            soonest = min(soonest, max(requests[UNSIGNED(taken)].arrival, now + 1))
        now = soonest
        progress[1] = done  # for who looks on
    progress[0], progress[1], progress[2] = taken, done, now
    finished: bool = done == total
    return finished


@inlined
def _is_full(log: CommandLog) -> bool:
    return log.limit > 0 and log.count + 2 >= log.limit


@inlined
def _can_enter(rules: DramRules, channels: Any, request: RequestRecord) -> bool:
    return has_room(rules, channels[request.channel], request.write)


@inlined
def _end(rules: DramRules, ch: ChannelRecord, requests: Any, slot: int, now: int) -> int:
    """1 when a command was the column command of a request, which is done with it."""
    if slot == NONE:
        return 0
    request = requests[UNSIGNED(ch.owner[slot])]
    request.ended = now if request.write else now + rules.read_end
    release(ch, slot)
    return 1


@inlined
def _take(
    rules: DramRules, channels: Any, requests: Any, per_cycle: int, planned: Any, taken: int, now: int
) -> tuple[int, int]:
    """Take in what has arrived, up to the first request whose queue is full; requests taken in, and now queued."""
    limit, queued = min(taken + per_cycle, requests.size), 0
    while taken < limit and requests[UNSIGNED(taken)].arrival <= now:
        request = requests[UNSIGNED(taken)]
        state = take_in(rules, channels[request.channel], now, request.write, request.burst, taken)
        if state == FULL:
            break
        request.accepted = now
        request.ended = now + (state == FORWARDED)
        if state == QUEUED:
            planned[request.channel] = NONE
            queued += 1
        taken += 1
    return taken, queued


@inlined
def _next(rules: DramRules, channels: Any, planned: Any, now: int) -> int:
    """Plan where needed; the next command or refresh of any channel."""
    soonest = NEVER
    for c in range(channels.size):
        if planned[c] == NONE:
            plan(rules, channels[c], now + 1)
            planned[c] = next_at(rules, channels[c])
        soonest = min(soonest, planned[c], channels[c].refresh_due)
    return soonest
