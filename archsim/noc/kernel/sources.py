"""Nodes: queues of packets, each sent flit by flit into a free channel of the node's router."""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined
from archsim.noc.kernel.arrive import post_flit
from archsim.noc.kernel.bits import next_of
from archsim.noc.kernel.layout import INDEX, NO_INDEX, NONE, NUMBER, PACKET_BITS, TAIL, WHERE_BITS


@inlined
def enqueue(state: Any, number: int) -> None:
    """The packet joins its node's queue."""
    packet = state.packets[INDEX(number)]
    node = state.nodes[INDEX(packet.source)]
    packet.next = NO_INDEX
    if node.first == NO_INDEX:
        node.first = number
        sending = state.sending
        sending[0] += 1
        sending[sending[0]] = packet.source
    else:
        state.packets[node.last].next = number
    node.last = number


@inlined
def send(state: Any, now: int) -> None:
    """Each node that has a packet sends a flit of it if there is room ahead."""
    sending = state.sending
    kept = 0
    for place in range(1, sending[0] + 1):
        number = sending[place]
        node = state.nodes[number]
        _send(state, node, now)
        sending[INDEX(kept + 1)] = number
        kept += 0 if node.first == NO_INDEX else 1
    sending[0] = kept


@inlined
def _send(state: Any, node: Any, now: int) -> None:
    base = node.port * state.rules[0].vcs
    if node.vc == NONE:
        _take_channel(state, node, base)
        if node.vc == NONE:
            return
    output = state.outputs[INDEX(base + node.vc)]
    if output.credits == 0:
        return
    packet = state.packets[node.first]
    where = packet.target if packet.tree == NONE else state.rules[0].nodes + packet.tree
    flit = NUMBER(node.first) << PACKET_BITS | where << WHERE_BITS
    if node.sent == 0:
        packet.started = now
    node.sent += 1
    if node.sent == packet.flits:
        flit |= TAIL
        node.first = packet.next
        node.vc = NONE
        node.sent = 0
    post_flit(state, output, flit, now)


@inlined
def _take_channel(state: Any, node: Any, base: int) -> None:
    """The next free channel after the last one taken that has room."""
    port = state.ports[node.port]
    free = NUMBER(port.free)
    while free:
        vc = next_of(free, node.last_vc + 1, state.rules[0].vcs)
        free &= ~(1 << vc)
        if state.outputs[INDEX(base + vc)].credits:
            node.vc = node.last_vc = vc
            port.free &= ~(1 << vc)
            return
