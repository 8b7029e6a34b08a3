"""Heads that ask for the switch in the cycle in which they ask for a channel ahead.

They ask where one of the channels that they ask for has a credit, after the packets that have one; a head that passes
the allocators of both leaves in that cycle, one that wins the switch alone has wasted the slot.
"""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined, njit
from archsim.noc.kernel.arrive import list_port
from archsim.noc.kernel.bits import lowest, next_of
from archsim.noc.kernel.layout import NONE, WAITING
from archsim.noc.kernel.passing import leave, send


@njit
def guess(state: Any, count: int) -> None:
    """Note the heads, of the ``count`` requests for channels, that ask for the switch."""
    state.guessed[0] = 0
    for number in range(count):
        request = state.requests[number]
        own = state.inputs[request.channel]
        if own.state == WAITING and _has_credit(state, request):
            state.ports[own.port].guessing |= own.bit
            list_port(state, own.port)


@njit
def ask_guessing(state: Any, port: int, number: int, channels: int, asks: int, now: int) -> int:
    """Ask for the outputs for which no other channel of the input asks."""
    rules = state.rules[0]
    source = state.switch[number]
    while channels:
        vc = next_of(channels, source.first_vc, rules.vcs)
        channels &= ~(1 << vc)
        own = state.inputs[port * rules.vcs + vc]
        bit = 1 << own.output - own.first_output
        if not source.asked & bit:
            asks = add_ask(state, number, own.output, port * rules.vcs + vc, asks, now)
            source.asked |= bit
    return asks


@njit
def send_guessed(state: Any, now: int) -> None:
    """The heads that have won the switch leave if they have won a channel with a credit."""
    guessed = state.guessed
    for place in range(1, guessed[0] + 1):
        channel = guessed[place]
        own = state.inputs[channel]
        if own.ready:
            send(state, channel, lowest(own.ready), now)
            leave(state, channel, now)


@inlined
def add_ask(state: Any, number: int, output: int, channel: int, asks: int, now: int) -> int:
    """The input asks for the output on behalf of the channel, unless a packet keeps the way to it."""
    ask, target = state.asks[asks], state.ports[output]
    if target.held_by != NONE:
        return asks
    ask.number, ask.output, ask.channel = number, output, channel
    ask.before = target.last_ask if target.switch_at == now else NONE
    target.switch_at = now
    target.last_ask = asks
    return asks + 1


@inlined
def _has_credit(state: Any, request: Any) -> bool:
    row = request.row
    while row:
        if state.outputs[request.output * state.rules[0].vcs + lowest(row)].credits:
            return True
        row &= row - 1
    return False
