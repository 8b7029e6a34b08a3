"""The network, cycle by cycle: arrivals, nodes, then each router's channels and switch."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.kernels import inlined, njit
from archsim.noc.kernel.aiming import route_fronts
from archsim.noc.kernel.arrive import receive, take_credits
from archsim.noc.kernel.bernoulli import Sources, make
from archsim.noc.kernel.channels import ask_channels, take_channels
from archsim.noc.kernel.layout import NEXT, NONE, NOW, UNDER_WAY
from archsim.noc.kernel.sources import enqueue, send
from archsim.noc.kernel.speculating import guess, send_guessed
from archsim.noc.kernel.switching import switch
from archsim.noc.kernel.ties import break_ties


def advance(state: Any, packets: int, until: int) -> None:
    """Run to cycle ``until``; of ``packets``, in order of time, each joins its node's queue at its time."""
    none = np.zeros(0, np.int64)
    _advance(state, Sources(0.0, 1, none, none), packets, until)


def advance_random(state: Any, sources: Sources, until: int) -> None:
    """Run to cycle ``until`` with synthetic traffic, or until there might be no room for another cycle's packets."""
    _advance(state, sources, NONE, until)


@njit
def _advance(state: Any, sources: Any, packets: int, until: int) -> None:
    """One loop for both, so that it is compiled once; ``packets``: NONE for synthetic traffic."""
    counts = state.counts
    now = counts[NOW]
    room = state.packets.size - (state.rules[0].nodes if packets == NONE else 0)
    while now < until and counts[NEXT] <= room:
        if packets != NONE and counts[UNDER_WAY] == 0:
            now = _pass_idle(state, packets, now, until)
            if now == until:
                break
        fronts = state.fronts[0]
        counts[UNDER_WAY] -= receive(state, now)
        take_credits(state, now)
        new = make(state, sources, counts[NEXT], now) if packets == NONE else _submit(state, packets, now)
        counts[NEXT] += new
        counts[UNDER_WAY] += new
        _end_cycle(state, fronts, now)
        now += 1
    counts[NOW] = now


@inlined
def _pass_idle(state: Any, packets: int, now: int, until: int) -> int:
    """The cycle from which to go on when nothing is under way but credits: whole turns of the calendars before the next
    packet, and at least one turn, in which the credits come back."""
    counts, slots = state.counts, state.rules[0].slots
    if counts[NEXT] == packets:
        return until
    turns: int = (min(until, state.packets[counts[NEXT]].time) - now) // slots - 1
    passed: int = max(0, turns) * slots
    return now + passed


@inlined
def _submit(state: Any, packets: int, now: int) -> int:
    first: int = state.counts[NEXT]
    number = first
    while number < packets and state.packets[number].time <= now:
        enqueue(state, number)
        number += 1
    return number - first


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
