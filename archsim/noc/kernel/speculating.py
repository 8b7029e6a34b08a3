"""Heads that ask for the switch in the cycle in which they ask for a channel ahead.

They ask where one of the channels that they ask for has a credit, after the packets that have one; a head that passes
the allocators of both leaves in that cycle, one that wins the switch alone has wasted the slot. A packet to several
outputs that has a channel ahead at one of them is no longer a head that guesses.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.kernel.arrive import list_port
from archsim.noc.kernel.bits import lowest
from archsim.noc.kernel.layout import INDEX, WAITING
from archsim.noc.kernel.passing import leave_rare, send_rare


@njit
def guess(state: Any, count: int) -> None:
    """Note the heads, of the ``count`` requests for channels, that ask for the switch."""
    state.guessed[0] = 0
    for number in range(count):
        request = state.requests[number]
        own = state.inputs[request.channel]
        if own.state == WAITING and _has_credit(state, request):
            port = state.ports[own.port]
            port.guessing |= own.bit
            list_port(state, port, own.port)


@njit
def send_guessed(state: Any, now: int) -> None:
    """The heads that have won the switch leave if they have won a channel with a credit."""
    guessed = state.guessed
    for place in range(1, guessed[0] + 1):
        channel = INDEX(guessed[2 * place - 1])
        outputs = guessed[2 * place] & state.inputs[channel].ready
        if outputs:
            while outputs:
                send_rare(state, channel, lowest(outputs), now)
                outputs &= outputs - 1
            leave_rare(state, channel, now)


@inlined
def _has_credit(state: Any, request: Any) -> bool:
    row = request.row
    while row:
        if state.outputs[INDEX(request.output * state.rules[0].vcs + lowest(row))].credits:
            return True
        row &= row - 1
    return False
