"""Channels fed by a trace: requests in their order, each when it has arrived and its queue has room."""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined, njit
from archsim.memory.dram.kernel.issue import tick
from archsim.memory.dram.kernel.layout import INTAKE, NEVER, NONE, Channel, Rules
from archsim.memory.dram.kernel.queues import FORWARDED, FULL, QUEUED, has_room, release, take_in
from archsim.memory.dram.kernel.select import next_at, plan


@njit
def replay(rules: Rules, channels: Any, requests: Any, progress: Any, planned: Any, logs: Any) -> bool:
    """Serve requests until all are done (True) or a log may be full after the next cycle.

    ``requests``: (requests, 6) arrival cycle, channel, number of the burst on it, whether it is written, and,
    filled in, the cycles at which it is taken in and ends: a read with its last beat, a write when it is issued or
    merged, a forwarded read one cycle after it was taken in. ``progress``: requests taken in, requests done, cycle;
    at first 0, 0, -1. ``planned``: each channel's next command, at first NONE. ``logs``: one Log for each channel.
    """
    taken, done, now, total = progress[0], progress[1], progress[2], requests.shape[0]
    while done < total and not _is_full(logs):
        arrival = NEVER
        if taken < total and has_room(rules, channels[requests[taken, 1]], requests[taken, 3]):
            arrival = max(requests[taken, 0], now + 1)
        now = min(_soonest(channels, planned), arrival) if now >= 0 else 0
        for c in range(channels.size):
            if channels[c].refresh_due <= now:
                plan(rules, channels[c], now)
                planned[c] = next_at(rules, channels[c])
            if planned[c] == now:
                slot = tick(rules, channels[c], logs[c], now)
                done += _finish(rules, channels[c], requests, slot, now)
                planned[c] = NONE
        before = taken
        taken = _take(rules, channels, requests, planned, taken, now)
        for i in range(before, taken):
            done += requests[i, 5] != NONE
        for c in range(channels.size):
            if planned[c] == NONE:
                plan(rules, channels[c], now + 1)
                planned[c] = next_at(rules, channels[c])
    progress[0], progress[1], progress[2] = taken, done, now
    finished: bool = done == total
    return finished


@inlined
def _is_full(logs: Any) -> bool:
    full = False
    for c in range(logs.size):
        full |= logs[c].limit > 0 and logs[c].count + 2 >= logs[c].limit
    return full


@inlined
def _soonest(channels: Any, planned: Any) -> int:
    """The next command or refresh of any channel."""
    soonest = NEVER
    for c in range(channels.size):
        soonest = min(soonest, planned[c], channels[c].refresh_due)
    return soonest


@inlined
def _finish(rules: Rules, ch: Channel, requests: Any, slot: int, now: int) -> int:
    if slot == NONE:
        return 0
    requests[ch.owner[slot], 5] = now if ch.write[slot] else now + rules.read_end
    release(ch, slot)
    return 1


@inlined
def _take(rules: Rules, channels: Any, requests: Any, planned: Any, taken: int, now: int) -> int:
    """Take in what has arrived, in order, up to the first request whose queue is full."""
    limit = min(taken + INTAKE, requests.shape[0])
    while taken < limit and requests[taken, 0] <= now:
        c = requests[taken, 1]
        state = take_in(rules, channels[c], now, requests[taken, 3], requests[taken, 2], taken)
        if state == FULL:
            break
        requests[taken, 4] = now
        requests[taken, 5] = now + (state == FORWARDED)
        if state == QUEUED:
            requests[taken, 5] = planned[c] = NONE
        taken += 1
    return taken
