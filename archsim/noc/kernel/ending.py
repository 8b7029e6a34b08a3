"""When a message can end at the soonest: how far others may run before the network has to be asked."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import njit
from archsim.noc.kernel.layout import AT_SOURCE, COMING, INDEX, NEVER, NO_INDEX, NONE, UNDER_WAY


@njit
def bound(state: Any, now: int) -> int:
    """The cycle, from ``now`` on, before which no message ends; NEVER where none is left.

    A message that has a flit at its source ends no sooner than its last flit can arrive; of others only those end soon
    whose flit is already on its way from the last switch. A shipment ends no sooner than any message of it.
    """
    counts = state.counts
    found = first_to_come(state)
    if counts[UNDER_WAY] > counts[AT_SOURCE]:
        found = min(found, _first_at_a_node(state, now))
    for place in range(1, state.sending[0] + 1):
        found = _first_at_source(state, state.nodes[state.sending[place]], now, found)
    return found


@njit
def first_to_come(state: Any) -> int:
    """Of messages to come, if nothing held them up."""
    found: int = NEVER
    number = state.counts[COMING]
    while number != NONE and state.messages[INDEX(number)].time < found:
        message = state.messages[INDEX(number)]
        found = min(found, message.time + _flits(state, message) - 1 + message.flight)
        number = NONE if message.next == NO_INDEX else message.next
    return found


@njit
def _first_at_source(state: Any, node: Any, now: int, found: int) -> int:
    """The lesser of ``found`` and the first end of the node's messages: before one that waits for its turn each other
    sends a flit at least."""
    sent = node.sent
    number = node.first
    turn = now - sent
    while number != NO_INDEX and turn < found:
        message = state.messages[number]
        found = min(found, now + _flits(state, message) - sent - 1 + message.flight)
        sent = 0
        turn += 1
        number = message.next
    return found


@njit
def _first_at_a_node(state: Any, now: int) -> int:
    rules = state.rules[0]
    for cycle in range(now, now + rules.sink_cycles):
        if state.arriving[INDEX(2 * (cycle & (rules.slots - 1)) + 1), 0]:
            return cycle
    found: int = now + rules.sink_cycles
    return found


@njit
def _flits(state: Any, message: Any) -> int:
    """That the source has not sent, but for those of the packet that it is sending; headers too."""
    rules = state.rules[0]
    packets = max(1, -(-message.rest // rules.packet_flits))
    found: int = message.rest + packets * rules.header_flits
    return found
