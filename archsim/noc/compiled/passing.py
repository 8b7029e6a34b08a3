"""Flits pass a switch and free their places."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.compiled.aiming import branch_to, slot, to_front
from archsim.noc.compiled.arrivals import post_credit, post_flit, update
from archsim.noc.compiled.bits import lowest
from archsim.noc.compiled.records import IDLE, TAIL


@njit
def send_rare(state: Any, channel: int, output: int, now: int) -> None:
    """``send``, called, where it is rare: it is not worth its size."""
    send(state, channel, output, now)


@njit
def leave_rare(state: Any, channel: int, now: int) -> None:
    """``leave``, called."""
    leave(state, channel, now)


@inlined
def send(state: Any, channel: int, output: int, now: int) -> None:
    """Send the next flit of the packet to one output."""
    rules = state.rules[0]
    own = state.inputs[channel]
    branch = branch_to(state, channel, output)
    flit = state.buffers[slot(rules, channel, own.head + branch.sent - own.base)]
    branch.sent += 1
    post_flit(state, state.outputs[branch.ahead], flit, now)
    own.ready &= ~(1 << output)
    if flit & TAIL:
        own.held &= ~(1 << output)
    else:
        update(state, channel, output)


@inlined
def leave(state: Any, channel: int, now: int) -> None:
    """Give back the places of the flits that all of the packet's branches have sent."""
    rules = state.rules[0]
    own = state.inputs[channel]
    port = state.ports[own.port]
    done = _done(state, channel)
    while done > 0:
        done -= 1
        tail = state.buffers[slot(rules, channel, own.head)] & TAIL
        own.base += 1
        own.head = (own.head + 1) & ((1 << rules.slot_bits) - 1)
        own.count -= 1
        post_credit(state, own.upstream, now + port.credit_after)
        if tail:
            own.state = IDLE
            if own.count:
                to_front(state, channel, own)
            break
    if not own.ready:
        port.sending &= ~own.bit


@inlined
def _done(state: Any, channel: int) -> int:
    """Flits in the buffer that every branch of the packet has sent."""
    own = state.inputs[channel]
    if own.want:
        return 0
    least: int = own.base + own.count
    held = own.held
    while held:
        least = min(least, branch_to(state, channel, lowest(held)).sent)
        held &= held - 1
    done: int = least - own.base
    return done
