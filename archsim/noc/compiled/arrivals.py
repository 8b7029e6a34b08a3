"""What reaches a router or a node in a cycle: flits, and credits for buffers that were freed.

A slow link has a period p, the cycles that a flit takes, an exact ratio > 1. It takes a flit in the cycle in which it
becomes free: flits that follow one another enter every p cycles in the mean, and each is at the other end when its last
part is.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.compiled.aiming import branch_to, slot, to_front
from archsim.noc.compiled.bits import lowest
from archsim.noc.compiled.records import (
    ARRIVED,
    EMPTYING,
    IDLE,
    INDEX,
    MESSAGE_BITS,
    NO_INDEX,
    ON_LINK,
    SLOW,
    SLOW_DIMS,
    TAIL,
)
from archsim.noc.compiled.shipping import end


@njit
def take_link(state: Any, number: int, now: int) -> int:
    """A flit enters the slow link of an output, which no other one asks for until it is free; cycles until it is at
    the other end."""
    pace = state.paces[number]
    pace.free = max(pace.free, now * pace.denominator) + pace.numerator
    state.ports[number].held_by = ON_LINK
    row = state.releases[INDEX((pace.free // pace.denominator) & (state.rules[0].slots - 1))]
    count = INDEX(row[0] + 1)
    row[0] = count
    row[count] = number
    after: int = pace.flit_after - (-pace.free // pace.denominator) - now - 1
    return after


@inlined
def release(state: Any, now: int) -> None:
    """Outputs whose slow links can take a flit in this cycle."""
    row = state.releases[INDEX(now & (state.rules[0].slots - 1))]
    for place in range(1, row[0] + 1):
        state.ports[row[place]].held_by = NO_INDEX
    row[0] = 0


@inlined
def receive(state: Any, now: int, stops: bool) -> None:
    """Take in all flits of the cycle; the shipments that ended are listed, if the network ``stops`` at them."""
    rules = state.rules[0]
    row = INDEX(2 * (now & (rules.slots - 1)))
    arriving, delivered = state.arriving[row], state.arriving[INDEX(row + 1)]
    for place in range(1, arriving[0] + 1):
        _store(state, arriving[place])
    arriving[0] = 0
    state.done[0] = 0
    for place in range(1, delivered[0] + 1):
        _deliver(state, delivered[place], now, stops)
    state.counts[ARRIVED] += delivered[0]
    delivered[0] = 0


@inlined
def take_credits(state: Any, now: int) -> None:
    """Count the credits of the cycle; a packet that waited for one can go on."""
    rules = state.rules[0]
    returned = state.credits[INDEX(now & (rules.slots - 1))]
    for place in range(1, returned[0] + 1):
        output = state.outputs[returned[place]]
        output.credits += 1
        if output.owner != NO_INDEX:
            if output.owner != EMPTYING:
                if output.credits == 1:
                    update(state, output.owner, output.output)
            elif output.credits == rules.depth:
                output.owner = NO_INDEX
                _release(state, output)
    returned[0] = 0


@inlined
def post_credit(state: Any, ahead: int, at: int) -> None:
    """A flit's place at the end of the channel ``ahead`` is free; known behind it at ``at``."""
    returned = state.credits[INDEX(at & (state.rules[0].slots - 1))]
    count = INDEX(returned[0] + 1)
    returned[0] = count
    returned[count] = ahead


@inlined
def post_flit(state: Any, output: Any, flit: int, now: int) -> None:
    """The flit leaves in cycle ``now`` for the channel ahead, in whose buffer is room."""
    rules = state.rules[0]
    to = output.to
    state.buffers[slot(rules, to, output.sent)] = flit
    output.sent += 1
    output.credits -= 1
    after = state.ports[output.port].flit_after
    if state.slow.ndim == SLOW_DIMS and after == SLOW:
        after = take_link(state, output.port, now)
    row = (now + after) & (rules.slots - 1)
    arriving = state.arriving[INDEX(2 * row + (1 if to >= rules.channels else 0))]
    count = INDEX(arriving[0] + 1)
    arriving[0] = count
    arriving[count] = to
    if flit & TAIL:
        _tail_sent(state, output)


@inlined
def update(state: Any, channel: int, output: int) -> None:
    """Say whether the input channel has a flit and a credit for the output port that it holds."""
    own = state.inputs[channel]
    branch = branch_to(state, channel, output)
    if branch.sent - own.base < own.count and state.outputs[branch.ahead].credits > 0:
        own.ready |= 1 << output
        port = state.ports[own.port]
        port.sending |= own.bit
        list_port(state, port, own.port)


@inlined
def list_port(state: Any, port: Any, number: int) -> None:
    """The port is among those that ask for the switch."""
    listed = state.listed
    listed[INDEX(listed[0] + 1)] = number
    listed[0] += 1 - port.listed
    port.listed = 1


@inlined
def _tail_sent(state: Any, output: Any) -> None:
    """The last flit of the packet that held the channel has left for it."""
    if state.rules[0].wait_tail:
        output.owner = EMPTYING
    else:
        output.owner = NO_INDEX
        _release(state, output)


@inlined
def _release(state: Any, output: Any) -> None:
    """No packet holds the channel any more."""
    state.ports[output.port].free |= 1 << output.vc


@inlined
def _store(state: Any, channel: int) -> None:
    own = state.inputs[channel]
    own.count += 1
    if own.state == IDLE:
        to_front(state, channel, own)
        return
    held = own.held & ~own.ready
    while held:
        output = lowest(held)
        held &= held - 1
        update(state, channel, output)


@inlined
def _deliver(state: Any, to: int, now: int, stops: bool) -> None:
    rules = state.rules[0]
    ahead = INDEX(to - rules.channels)
    output = state.outputs[ahead]
    flit = state.buffers[slot(rules, to, output.taken)]
    output.taken += 1
    number = INDEX(flit >> MESSAGE_BITS)
    message = state.messages[number]
    post_credit(state, ahead, now + state.ports[output.port].sink_after)
    message.arrived += 1
    if flit & TAIL:
        message.left -= 1
        if message.left == 0:
            end(state, number, now, stops)
