"""Inputs of the routers' switches ask for outputs."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.kernel.bits import lowest, next_of
from archsim.noc.kernel.layout import INDEX, NO_INDEX, NONE


@inlined
def ask(state: Any) -> None:
    """Inputs with channels that can send, or whose heads guess, ask on behalf of those; but for inputs whose packet
    keeps its way."""
    speedup = state.rules[0].speedup
    listed = state.listed
    for place in range(1, listed[0] + 1):
        number = listed[place]
        port = state.ports[number]
        guessing = port.guessing
        port.guessing = 0
        for lane in range(speedup):
            channels = state.lanes[lane]
            source = INDEX(number * speedup + lane)
            if (port.sending | guessing) & channels and state.switch[source].held_output == NONE:
                state.switch[source].asked = 0
                _ask(state, port, number, source, port.sending & channels, False)
                if guessing & channels:
                    _ask_guessing(state, port, number, source, guessing & channels)


@inlined
def _ask(state: Any, port: Any, number: int, source: int, channels: int, guessing: bool) -> None:
    """On behalf of the channels, in turn: for the outputs to which they can send, or which their heads want, and for
    which no channel before has asked."""
    rules = state.rules[0]
    own = state.switch[source]
    while channels:
        vc = next_of(channels, own.first_vc, rules.vcs)
        channels &= ~(1 << vc)
        channel = INDEX(number * rules.vcs + vc)
        asks = state.inputs[channel].want if guessing else state.inputs[channel].ready
        fresh = asks & ~own.asked
        while fresh:
            _add_ask(state, port, source, channel, lowest(fresh))
            fresh &= fresh - 1


@njit
def _ask_guessing(state: Any, port: Any, number: int, source: int, channels: int) -> None:
    """After all that can send, called: it is rare."""
    _ask(state, port, number, source, channels, True)


@inlined
def _add_ask(state: Any, port: Any, source: int, channel: int, output: int) -> None:
    """The input asks for the output on behalf of the channel, unless a packet keeps the way to it."""
    own = state.switch[source]
    number = INDEX(port.first_output + output)
    target = state.ports[number]
    if target.held_by != NO_INDEX:
        return
    wanted = state.wanted
    wanted[INDEX(wanted[0] + 1)] = number
    wanted[0] += 0 if target.asking else 1
    target.asking |= 1 << own.number
    own.asked |= 1 << output
    state.choices[INDEX(source * state.rules[0].ports + output)] = channel
