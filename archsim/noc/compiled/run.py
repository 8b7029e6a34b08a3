"""The network, cycle by cycle: arrivals, nodes, then each router's channels and switch."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.jit import entry, inlined, njit
from archsim.noc.compiled.aiming import break_ties, route_fronts
from archsim.noc.compiled.arrivals import receive, release, take_credits
from archsim.noc.compiled.channels import ask_channels, take_channels
from archsim.noc.compiled.node_queues import PacketSources, make, next_time, send, start
from archsim.noc.compiled.records import MADE, NEVER, NOW, QUIET, SLOW_DIMS, UNDER_WAY
from archsim.noc.compiled.shipping import bound
from archsim.noc.compiled.switching import guess, send_guessed, switch

SILENT = PacketSources(0.0, 1, np.zeros(0, np.int64), np.zeros(0, np.int64))


def advance(state: Any, until: int, *, stops: bool = False) -> tuple[int, int]:
    """Run the cycles before ``until``; the messages to come, in order of time, join their nodes' queues at theirs.

    ``stops``: at the end of the first cycle in which a shipment ends. Returns how many of ``state.done`` ended in it,
    and a cycle before which no further one can, NEVER where none is left.
    """
    found: tuple[int, int] = run(state, SILENT, False, stops, until)
    return found


def advance_random(state: Any, sources: PacketSources, until: int) -> None:
    """Run to cycle ``until`` with synthetic traffic, or until there might be no room for another cycle's messages."""
    run(state, sources, True, False, until)


@entry
@njit
def run(state: Any, sources: Any, synthetic: bool, stops: bool, until: int) -> tuple[int, int]:
    """One loop for both, so that it is compiled once."""
    counts = state.counts
    now = counts[NOW]
    room = state.messages.size - (state.rules[0].nodes if synthetic else 0)
    state.done[0] = 0
    while now < until and counts[MADE] <= room and not (stops and state.done[0]):
        if not synthetic and counts[UNDER_WAY] == 0 and now >= counts[QUIET]:
            now = max(now, min(until, next_time(state)))
            if now == until:
                break
        fronts = state.fronts[0]
        before = counts[UNDER_WAY]
        receive(state, now, stops)
        take_credits(state, now)
        if state.slow.ndim == SLOW_DIMS:
            release(state, now)
        new = make(state, sources, counts[MADE], now) if synthetic else start(state, now)
        counts[MADE] += new if synthetic else 0
        if counts[UNDER_WAY] < before:
            counts[QUIET] = now + state.rules[0].slots  # what is on its way back then has come, and the rest follows
        counts[UNDER_WAY] += new
        _end_cycle(state, fronts, now)
        now += 1
    counts[NOW] = now
    return (state.done[0], bound(state, now)) if stops else (0, NEVER)


@inlined
def _end_cycle(state: Any, fronts: int, now: int) -> None:
    """What leaves nodes and routers. A channel that is freed or taken in this cycle is so from the next one on."""
    send(state, now)
    route_fronts(state, fronts, now)
    if state.ties[0]:
        break_ties(state)
    asking = ask_channels(state, now)
    if state.rules[0].speculative:
        guess(state, asking)
    switch(state, now)
    take_channels(state, asking, now)
    if state.guessed[0]:
        send_guessed(state, now)
