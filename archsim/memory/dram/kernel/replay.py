"""Channels fed by a trace: requests in their order, each when it has arrived and its queue has room."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.kernels import inlined, njit
from archsim.memory.dram.kernel.issue import tick
from archsim.memory.dram.kernel.layout import INTAKE, NEVER, NONE, Channel, Log, Request, Rules
from archsim.memory.dram.kernel.queues import FORWARDED, FULL, QUEUED, has_room, release, take_in
from archsim.memory.dram.kernel.select import next_at, plan


@njit
def replay(rules: Rules, channels: Any, requests: Any, progress: Any, planned: Any, logs: Any) -> bool:
    """Serve requests until all are done (True) or a log may be full after the next cycle.

    ``requests``: Request records; their times are filled in. ``progress``: requests taken in, requests done, cycle of
    the next event; at first 0. ``planned``: each channel's next command, at first NONE. ``logs``: a Log for each.
    """
    taken, done, now, total = progress[0], progress[1], progress[2], requests.size
    full = False
    while done < total and not full:
        for c in range(channels.size):
            if channels[c].refresh_due <= now:
                plan(rules, channels[c], now)
                planned[c] = next_at(rules, channels[c])
            if planned[c] == now:
                slot = tick(rules, channels[c], logs[c], now)
                full |= _is_full(logs[c])
                planned[c] = NONE
                if slot != NONE:
                    _finish(rules, channels[c], requests[np.uint64(channels[c].owner[slot])], slot, now)
                    done += 1
        limit = min(taken + INTAKE, total)
        while taken < limit and requests[np.uint64(taken)].arrival <= now:
            request = requests[np.uint64(taken)]
            state = _take(rules, channels[request.channel], request, taken, now)
            if state == FULL:
                break
            if state == QUEUED:
                planned[request.channel] = NONE
            done += state != QUEUED
            taken += 1
        soonest = NEVER
        for c in range(channels.size):
            if planned[c] == NONE:
                plan(rules, channels[c], now + 1)
                planned[c] = next_at(rules, channels[c])
            soonest = min(soonest, planned[c], channels[c].refresh_due)
        if taken < total and _can_enter(rules, channels, requests[np.uint64(taken)]):
            soonest = min(soonest, max(requests[np.uint64(taken)].arrival, now + 1))
        now = soonest
    progress[0], progress[1], progress[2] = taken, done, now
    finished: bool = done == total
    return finished


@inlined
def _is_full(log: Log) -> bool:
    return log.limit > 0 and log.count + 2 >= log.limit


@inlined
def _can_enter(rules: Rules, channels: Any, request: Request) -> bool:
    return has_room(rules, channels[request.channel], request.write)


@inlined
def _finish(rules: Rules, ch: Channel, request: Request, slot: int, now: int) -> None:
    request.ended = now if request.write else now + rules.read_end
    release(ch, slot)


@inlined
def _take(rules: Rules, ch: Channel, request: Request, number: int, now: int) -> int:
    state = take_in(rules, ch, now, request.write, request.burst, number)
    if state != FULL:
        request.accepted = now
        request.ended = now + (state == FORWARDED)
    return state
