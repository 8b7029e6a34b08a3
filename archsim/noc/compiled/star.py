"""Reservations where all nodes stand at one router, as far from it as one another: a turn for each packet.

Heads reach the router in the order in which they are sent, and nothing else does. So a packet's outputs can be
reserved when its node sends it. At an output packets leave in that order, those of a message too, and what makes one
of them late is a packet behind it: none arrives after its message's last one. So only that has turns at the router and
at its node, where others would see when it comes; the rest are as good as there.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined
from archsim.noc.compiled.bits import lowest
from archsim.noc.compiled.knuth import below
from archsim.noc.compiled.node_queues import begin_packet, next_packet
from archsim.noc.compiled.records import ARRIVED, AT_NODE, FREE, NO_INDEX, NO_PORT
from archsim.noc.compiled.turns import add, drop, put


@inlined
def send_at_once(state: Any, place: int, number: int, now: int) -> None:
    """The node whose turn stands in record ``place`` sends a packet of its first message through the router."""
    node, entry = state.nodes[number], state.entries[number]
    message = state.messages[node.first]
    begin_packet(state, node, entry, message, now)
    where = message.where
    if where >= state.rules[0].nodes:
        outputs = state.trees[where - state.rules[0].nodes, 0, 0]
        while outputs & (outputs - 1):
            _reserve(state, number, lowest(outputs), now)
            outputs &= outputs - 1
        _reserve(state, number, lowest(outputs), now)
    else:
        route = state.routes[0, where]
        port = route.port
        if route.other_port != NO_PORT and below(state.streams, 2) == 0:
            port = route.other_port
        _reserve(state, number, port, now)
    next_packet(state, node, message)
    if node.first == NO_INDEX:
        drop(state, place)
    else:
        put(state, entry.free, place)


@inlined
def _reserve(state: Any, number: int, port: int, now: int) -> None:
    """An output of the router for the packet that a node sends, as ``reserve`` has it in the turn of the head."""
    node, entry, output = state.nodes[number], state.entries[number], state.outputs[port]
    message = state.messages[node.first]
    asks = now + entry.cycles + state.pipeline
    wait = max(0, output.free - asks)
    if wait and output.last != NO_INDEX and output.last_came_by != number:
        state.turns[output.last].lag += min(wait, node.size)
    output.last, output.last_came_by = NO_INDEX, number
    output.free = asks + wait + node.size
    output.flits += node.size
    if message.rest > state.rules[0].packet_flits:
        message.left -= 1
        message.arrived += node.size
        state.counts[ARRIVED] += node.size
        return
    output.last = state.sizes[FREE]
    sent = add(state, now + entry.cycles, node.first, node.size, entry.router)
    sent.due = asks + wait + output.cycles + node.size - 1


@inlined
def pass_star(state: Any, place: int, packet: Any) -> None:
    """The head of a message's last packet is at the router, whose output it has."""
    packet.at = AT_NODE
    put(state, packet.due, place)
