"""Packets with two equally short ways: the network's stream of random numbers chooses."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import njit
from archsim.noc.kernel.aiming import aim, where_to
from archsim.noc.kernel.knuth import below
from archsim.noc.kernel.layout import INDEX


@njit
def break_ties(state: Any) -> None:
    """In order of routers; in each, in the order in which the packets came to the front, then of ports."""
    ties = state.ties
    _sort(state)
    for place in range(1, ties[0] + 1):
        channel = INDEX(ties[place])
        own = state.inputs[channel]
        route = state.routes[state.ports[own.port].router, where_to(state, channel)]
        if below(state.streams, 2) == 0:
            own.want = 1 << route.other_port
            aim(state, own, route.other_port, route.other_upper)
    ties[0] = 0


@njit
def _sort(state: Any) -> None:
    """By insertion: few, and those of a router nearly in order."""
    ties = state.ties
    for place in range(2, ties[0] + 1):
        tie = ties[place]
        key = _key(state, tie)
        to = place
        while to > 1 and _key(state, ties[to - 1]) > key:
            ties[to] = ties[to - 1]
            to -= 1
        ties[to] = tie


@njit
def _key(state: Any, tie: int) -> int:
    number = state.inputs[INDEX(tie)].port
    first = state.ports[number].first_output
    found: int = (tie >> 32) * state.rules[0].ports + number + first
    return found
