"""What reaches a router or a node in a cycle: flits, and credits for buffers that were freed."""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined
from archsim.noc.kernel.bits import lowest
from archsim.noc.kernel.layout import ALL_VCS, ARRIVED, FLIT_BITS, IDLE, NONE, TAIL, WAITING, WIRE


@inlined
def receive(state: Any, now: int) -> int:
    """Take in all flits of the cycle; the packets that ended, ``chosen`` aside, are counted."""
    rules = state.rules[0]
    arriving = state.arriving[now & (rules.slots - 1)]
    ended = 0
    for place in range(1, arriving[0] + 1):
        code = arriving[place]
        flit, to = code >> 32, code & 0xFFFFFFFF
        if to < rules.routers * rules.ports * rules.vcs:
            _store(state, to, flit, now)
        else:
            ended += _deliver(state, to - rules.routers * rules.ports * rules.vcs, flit, now)
    arriving[0] = 0
    return ended


@inlined
def take_credits(state: Any, now: int) -> None:
    """Count the credits of the cycle; a packet that waited for one can go on."""
    rules = state.rules[0]
    returned = state.credits[now & (rules.slots - 1)]
    for place in range(1, returned[0] + 1):
        ahead = returned[place]
        output = state.outputs[ahead]
        output.credits += 1
        if output.owner != NONE:
            update(state, output.owner, output.output)
        elif output.tail_sent and output.credits == rules.depth:
            output.tail_sent = 0
            _release(state, ahead)
    returned[0] = 0


@inlined
def post_credit(state: Any, ahead: int, at: int) -> None:
    """A flit's place at the end of the channel ``ahead`` is free; known behind it at ``at``."""
    returned = state.credits[at & (state.rules[0].slots - 1)]
    returned[0] += 1
    returned[returned[0]] = ahead


@inlined
def post_flit(state: Any, to: int, flit: int, at: int) -> None:
    """The flit reaches the channel ``to`` (after those of routers: of outputs to nodes) at ``at``."""
    arriving = state.arriving[at & (state.rules[0].slots - 1)]
    arriving[0] += 1
    arriving[arriving[0]] = flit << 32 | to


@inlined
def update(state: Any, channel: int, output: int) -> None:
    """Say whether the input channel has a flit and a credit for the output port that it holds."""
    own = state.inputs[channel]
    branch = state.branches[own.branch + output]
    if branch.sent - own.base < own.count and state.outputs[branch.ahead].credits > 0:
        own.ready |= 1 << output
        state.ports[own.port].sending |= own.bit
        list_port(state, own.port)


@inlined
def list_port(state: Any, number: int) -> None:
    """The port is among those that ask for the switch."""
    port = state.ports[number]
    if not port.listed:
        port.listed = 1
        listed = state.listed
        listed[0] += 1
        listed[listed[0]] = number


@inlined
def _release(state: Any, ahead: int) -> None:
    """No packet holds the channel any more."""
    output = state.outputs[ahead]
    if output.port != NONE:
        state.ports[output.port].free |= output.bit
    else:
        state.nodes[output.output].free |= output.bit


@inlined
def tail_sent(state: Any, ahead: int) -> None:
    """The last flit of the packet that held the channel has left for it."""
    output = state.outputs[ahead]
    output.owner = NONE
    if state.rules[0].wait_tail:
        output.tail_sent = 1
    else:
        _release(state, ahead)


@inlined
def _store(state: Any, channel: int, flit: int, now: int) -> None:
    rules = state.rules[0]
    own = state.inputs[channel]
    place = own.head + own.count
    state.buffers[channel, place if place < rules.depth else place - rules.depth] = flit
    own.count += 1
    if own.state == IDLE:
        begin(state, channel, now + rules.routing_delay, 1)
    elif own.held:
        held = own.held
        while held:
            output = lowest(held)
            held &= held - 1
            update(state, channel, output)


@inlined
def _deliver(state: Any, ahead: int, flit: int, now: int) -> int:
    rules = state.rules[0]
    post_credit(state, ahead, now + WIRE + state.ports[state.outputs[ahead].port].delay + rules.credit_delay)
    packet = state.packets[flit >> FLIT_BITS]
    packet.arrived += 1
    state.counts[ARRIVED] += 1
    if not flit & TAIL:
        return 0
    packet.left -= 1
    if packet.left:
        return 0
    packet.ended = now
    return 1


@inlined
def begin(state: Any, channel: int, at: int, arrived: int) -> None:
    """The head at the front of the buffer may ask for channels ahead from cycle ``at`` on; 1: it has just arrived."""
    own = state.inputs[channel]
    packet = state.packets[state.buffers[channel, own.head] >> FLIT_BITS]
    router = state.ports[own.port].router
    if packet.tree == NONE:
        route = state.routes[router, packet.target]
        own.want, own.upper = 1 << route.port, route.upper << route.port
        if route.other_port != NONE:
            state.ties[0] += 1
            state.ties[state.ties[0]] = arrived << 32 | channel
    else:
        own.want, own.upper = state.trees[packet.tree, router, 0], state.trees[packet.tree, router, 1]
    own.held = own.ready = 0
    own.base = 0
    own.state = WAITING
    own.route_at = at
    aim(state, channel, lowest(own.want))
    waiting = state.waiting
    waiting[0] += 1
    waiting[waiting[0]] = channel


@inlined
def aim(state: Any, channel: int, output: int) -> None:
    """Ask at this output next: for channels of the packet's class, which it keeps along a dimension."""
    own = state.inputs[channel]
    own.output = own.first_output + output
    dim = state.ports[own.output].dim
    if dim < 0:
        own.allowed = state.class_masks[ALL_VCS]
    elif dim == state.ports[own.port].dim:
        own.allowed = state.class_masks[1 if state.class_masks[1] & own.bit else 0]
    else:
        own.allowed = state.class_masks[own.upper >> output & 1]
