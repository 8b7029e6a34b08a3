"""Flits pass a switch and free their places."""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined
from archsim.noc.kernel.arrive import begin, post_credit, post_flit, tail_sent, update
from archsim.noc.kernel.bits import lowest
from archsim.noc.kernel.layout import IDLE, TAIL


@inlined
def send(state: Any, channel: int, output: int, now: int) -> None:
    """Send the next flit of the packet to one output."""
    rules = state.rules[0]
    own = state.inputs[channel]
    branch = state.branches[own.branch + output]
    place = own.head + branch.sent - own.base
    flit = state.buffers[channel, place if place < rules.depth else place - rules.depth]
    branch.sent += 1
    ahead = branch.ahead
    held = state.outputs[ahead]
    held.credits -= 1
    state.ports[held.port].flits += 1
    post_flit(state, held.to, flit, now + held.flit_after)
    own.ready &= ~(1 << output)
    if flit & TAIL:
        own.held &= ~(1 << output)
        tail_sent(state, ahead)
    else:
        update(state, channel, output)


@inlined
def leave(state: Any, channel: int, now: int) -> None:
    """Give back the places of the flits that all of the packet's branches have sent."""
    rules = state.rules[0]
    own = state.inputs[channel]
    done = _done(state, channel)
    while done > 0:
        done -= 1
        tail = state.buffers[channel, own.head] & TAIL
        own.base += 1
        own.head = own.head + 1 if own.head + 1 < rules.depth else 0
        own.count -= 1
        post_credit(state, own.upstream, now + own.credit_after)
        if tail:
            own.state = IDLE
            if own.count:
                begin(state, channel, now + 1 + rules.routing_delay, 0)
            break
    if not own.ready:
        state.ports[own.port].sending &= ~own.bit


@inlined
def _done(state: Any, channel: int) -> int:
    """Flits in the buffer that every branch of the packet has sent."""
    own = state.inputs[channel]
    if own.want:
        return 0
    least = own.base + own.count
    held = own.held
    while held:
        least = min(least, state.branches[own.branch + lowest(held)].sent)
        held &= held - 1
    return least - own.base
