"""Nodes: queues of packets, each sent flit by flit into a free channel of the node's router."""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined
from archsim.noc.kernel.arrive import post_flit, tail_sent
from archsim.noc.kernel.bits import next_of
from archsim.noc.kernel.layout import FLIT_BITS, HEAD, NONE, TAIL, WIRE


@inlined
def enqueue(state: Any, packet: int) -> None:
    """The packet joins its node's queue."""
    node = state.nodes[state.packets[packet].source]
    state.packets[packet].next = NONE
    if node.first == NONE:
        node.first = packet
    else:
        state.packets[node.last].next = packet
    node.last = packet


@inlined
def send(state: Any, now: int) -> int:
    """Each node sends a flit if it has one and room ahead; flits that left are counted."""
    count = 0
    for number in range(state.rules[0].nodes):
        if state.nodes[number].first != NONE:
            count += _send(state, number, now)
    return count


@inlined
def _send(state: Any, number: int, now: int) -> int:
    rules = state.rules[0]
    node = state.nodes[number]
    base = (rules.routers * rules.ports + number) * rules.vcs
    if node.vc == NONE:
        _take_channel(state, node, base)
    if node.vc == NONE or state.outputs[base + node.vc].credits == 0:
        return 0
    packet = state.packets[node.first]
    flit = node.first << FLIT_BITS
    if node.sent == 0:
        flit |= HEAD
        node.last_vc = node.vc
        packet.started = now
    node.sent += 1
    state.outputs[base + node.vc].credits -= 1
    to = node.to + node.vc
    if node.sent == packet.flits:
        flit |= TAIL
        tail_sent(state, base + node.vc)
        node.first = packet.next
        node.vc = NONE
        node.sent = 0
    post_flit(state, to, flit, now + WIRE + node.delay)
    return 1


@inlined
def _take_channel(state: Any, node: Any, base: int) -> None:
    """The next free channel after the last one taken that has room."""
    vcs = state.rules[0].vcs
    free = node.free
    while free:
        vc = next_of(free, node.last_vc + 1, vcs)
        free &= ~(1 << vc)
        if state.outputs[base + vc].credits:
            node.vc = vc
            node.free &= ~(1 << vc)
            return
