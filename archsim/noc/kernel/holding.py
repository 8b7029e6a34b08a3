"""Packets that keep their way through a switch while their flits follow one another."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.kernel.layout import INDEX, NO_INDEX, NONE
from archsim.noc.kernel.passing import leave_rare, send_rare


@inlined
def hold(state: Any, number: int, channel: int, output: int) -> None:
    """After a flit has passed: keep the way from the input to the output if the packet's next one is there."""
    own = state.inputs[channel]
    if own.held >> output & 1 and own.count:
        source, held = state.switch[number], state.holding
        source.held_output, source.held_channel = output, channel
        state.ports[_output(state, own, output)].held_by = number
        held[0] += 1
        held[held[0]] = number


@njit
def pass_held(state: Any, before: int, now: int) -> None:
    """The ``before`` packets that held a way when the cycle began send a flit, or give it up."""
    held = state.holding
    kept = 0
    for place in range(1, held[0] + 1):
        number = held[place]
        source = state.switch[number]
        channel, output = source.held_channel, source.held_output
        own = state.inputs[channel]
        keeps = place > before
        if not keeps and own.ready >> output & 1:
            send_rare(state, channel, output, now)
            leave_rare(state, channel, now)
            keeps = own.held >> output & 1 and own.count > 0
        if keeps:
            kept += 1
            held[kept] = number
        else:
            source.held_output = NONE
            state.ports[_output(state, own, output)].held_by = NO_INDEX
    held[0] = kept


@inlined
def _output(state: Any, own: Any, output: int) -> Any:
    return INDEX(state.ports[own.port].first_output + output)
