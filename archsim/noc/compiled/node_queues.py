"""Nodes: queues of messages, one packet of each in turn, sent flit by flit into a free channel of the node's router.

With synthetic traffic every node makes a packet in each cycle with the same probability, a message of its own. A node
that still has one to send draws later, for the cycles that it missed: the messages are those of an unlimited queue,
made at the cycle for which they were drawn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.base.jit import inlined
from archsim.noc.compiled.arrivals import post_flit
from archsim.noc.compiled.bits import next_of
from archsim.noc.compiled.knuth import below, fraction
from archsim.noc.compiled.records import (
    AT_SOURCE,
    COMING,
    INDEX,
    MESSAGE_BITS,
    NEVER,
    NO_INDEX,
    NONE,
    NUMBER,
    TAIL,
    WHERE_BITS,
)


@inlined
def next_time(state: Any) -> int:
    """Of the first message to come."""
    first = state.counts[COMING]
    time: int = NEVER if first == NONE else state.messages[INDEX(first)].time
    return time


@inlined
def start(state: Any, now: int) -> int:
    """Messages whose time has come join the queues; how many."""
    counts = state.counts
    started = 0
    while counts[COMING] != NONE and state.messages[INDEX(counts[COMING])].time <= now:
        number = INDEX(counts[COMING])
        message = state.messages[number]
        counts[COMING] = NONE if message.next == NO_INDEX else message.next
        started += 1
        enqueue(state, number)
    return started


@inlined
def enqueue(state: Any, number: int) -> None:
    """The message joins its node's queue."""
    message = state.messages[INDEX(number)]
    node = state.nodes[INDEX(message.source)]
    message.next = NO_INDEX
    state.counts[AT_SOURCE] += 1
    if node.first == NO_INDEX:
        node.first = number
        sending = state.sending
        sending[0] += 1
        sending[sending[0]] = message.source
    else:
        state.messages[node.last].next = number
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
    rules = state.rules[0]
    base = node.port * rules.vcs
    message = state.messages[node.first]
    if node.vc == NONE:
        _take_channel(state, node, base)
        if node.vc == NONE:
            return
        node.size = min(message.rest, rules.packet_flits) + rules.header_flits
    output = state.outputs[INDEX(base + node.vc)]
    if output.credits == 0:
        return
    flit = NUMBER(node.first) << MESSAGE_BITS | message.where << WHERE_BITS
    if node.sent == 0 and message.rest == message.flits:
        message.started = now
    node.sent += 1
    if node.sent == node.size:
        flit |= TAIL
        next_packet(state, node, message)
    post_flit(state, output, flit, now)


@inlined
def next_packet(state: Any, node: Any, message: Any) -> None:
    """A packet is sent: the next message has its turn, and this one again after all others if there is more of it."""
    number = node.first
    message.rest -= node.size - state.rules[0].header_flits
    node.vc = NONE
    node.sent = 0
    if message.rest == 0:
        state.counts[AT_SOURCE] -= 1
        node.first = message.next
    elif message.next != NO_INDEX:
        node.first = message.next
        message.next = NO_INDEX
        state.messages[node.last].next = number
        node.last = number


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


class PacketSources(NamedTuple):
    """``probability``: of a packet; ``targets``: of each node, or none; else drawn from ``drawn``."""

    probability: float
    flits: int
    targets: Any
    drawn: Any


@inlined
def make(state: Any, sources: Any, first: int, now: int) -> int:
    """Each idle node draws until it has a message or has drawn for ``now``; those from ``first`` on are counted."""
    count = 0
    for number in range(state.rules[0].nodes):
        node = state.nodes[number]
        while node.first == NO_INDEX and node.drawn <= now:
            if fraction(state.streams) < sources.probability:
                _make(state, sources, first + count, number, now)
                count += 1
            node.drawn += 1
    return count


@inlined
def _make(state: Any, sources: Any, number: int, source: int, now: int) -> None:
    made = state.messages[INDEX(number)]
    if sources.targets.size:
        made.where = sources.targets[source]
    else:
        made.where = sources.drawn[below(state.streams, sources.drawn.size)]
    below(state.streams, 1)  # the generator's next number chooses among networks, of which there is one
    made.source, made.flits, made.rest, made.left = source, sources.flits, sources.flits, 1
    made.then, made.whole, made.parts = NO_INDEX, number, 1
    made.time, made.made, made.ended, made.arrived = state.nodes[source].drawn, now, NONE, 0
    enqueue(state, number)
