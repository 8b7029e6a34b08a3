"""The network, cycle by cycle: arrivals, nodes, then each router's channels and switch."""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined, njit
from archsim.noc.kernel.arrive import receive, take_credits
from archsim.noc.kernel.bernoulli import make
from archsim.noc.kernel.channels import choose_channels, take_channels
from archsim.noc.kernel.layout import NEVER, NEXT, NOW, UNDER_WAY
from archsim.noc.kernel.ties import break_ties
from archsim.noc.kernel.sources import enqueue, send
from archsim.noc.kernel.speculating import guess, send_guessed
from archsim.noc.kernel.switching import switch


@njit
def advance(state: Any, packets: int, until: int) -> None:
    """Run to cycle ``until``; of ``packets``, in order of time, each joins its node's queue at its time."""
    counts = state.counts
    now = counts[NOW]
    while now < until:
        if counts[UNDER_WAY] == 0:
            now = max(now, min(until, state.packets[counts[NEXT]].time if counts[NEXT] < packets else NEVER))
            if now == until:
                break
        counts[UNDER_WAY] += _submit(state, packets, now) - begin_cycle(state, now)
        end_cycle(state, now)
        now += 1
    counts[NOW] = now


@njit
def advance_random(state: Any, sources: Any, until: int) -> None:
    """Run to cycle ``until`` with synthetic traffic, or until there might be no room for another cycle's packets."""
    counts = state.counts
    now = counts[NOW]
    room = state.packets.size - state.rules[0].nodes
    while now < until and counts[NEXT] <= room:
        counts[UNDER_WAY] -= begin_cycle(state, now)
        made = make(state, sources, counts[NEXT], now)
        counts[NEXT] += made
        counts[UNDER_WAY] += made
        end_cycle(state, now)
        now += 1
    counts[NOW] = now


@inlined
def _submit(state: Any, packets: int, now: int) -> int:
    first = number = state.counts[NEXT]
    while number < packets and state.packets[number].time <= now:
        enqueue(state, number)
        number += 1
    state.counts[NEXT] = number
    return number - first


@inlined
def begin_cycle(state: Any, now: int) -> int:
    """What reaches nodes and routers; packets that ended are counted."""
    ended = receive(state, now)
    take_credits(state, now)
    return ended


@inlined
def end_cycle(state: Any, now: int) -> None:
    """What leaves nodes and routers."""
    send(state, now)
    if state.ties[0]:
        break_ties(state)
    asking = choose_channels(state, now)
    if state.rules[0].speculative:
        guess(state, asking)
    switch(state, now)
    take_channels(state, asking)
    if state.guessed[0]:
        send_guessed(state, now)
