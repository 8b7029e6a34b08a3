"""Shipments: messages that end together, some of which wait until a request has arrived; how they join, and end.

The network also says when a message can end at the soonest: so far others may run before it has to be asked.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.compiled.records import (
    ARRIVED,
    ASKS,
    AT_SOURCE,
    COMING,
    COMING_LAST,
    INDEX,
    LED,
    NEVER,
    NO_INDEX,
    NONE,
    SPARE,
    UNDER_WAY,
)


@njit
def take_in(
    state: Any, fans: Any, copies: Any, rows: Any, begin: int, end: int, time: int, after: int, key: int
) -> None:
    """Write the records of a shipment, for which there is room, and let those come at ``time`` that wait for nothing.

    ``rows`` from ``begin`` up to ``end``: (fan, flits of payload, PLAIN | ASKS | LED) of each message.
    """
    counts, messages = state.counts, state.messages
    first, before, request, led = NO_INDEX, NO_INDEX, NO_INDEX, NO_INDEX
    parts = 0
    for row in range(begin, end):
        fan, flits, role = fans[rows[row, 0]], rows[row, 1], rows[row, 2]
        for place in range(fan.first, fan.first + fan.copies):
            number = INDEX(counts[SPARE])
            counts[SPARE] = _following(messages[number])
            first = number if first == NO_INDEX else first
            message = messages[number]
            message.source, message.whole = fan.source, first
            message.time = message.made = time
            message.after, message.key = after, key
            _fill(state.rules[0], message, copies[place], flits)
            if before != NO_INDEX:
                messages[INDEX(before)].member = number
            before = number
            parts += 1
            if role != LED:
                join(state, number)
            elif led == NO_INDEX:
                messages[INDEX(request)].then = number
            else:
                messages[INDEX(led)].next = number
            led = number if role == LED else NO_INDEX
            request = number if role == ASKS else request
    messages[INDEX(first)].parts = parts


@inlined
def _fill(rules: Any, message: Any, copy: Any, flits: int) -> None:
    message.started = message.ended = NONE
    message.flits = message.rest = flits
    message.where, message.flight = copy.where, copy.flight
    message.left = copy.nodes * max(1, -(-flits // rules.packet_flits))
    message.arrived = 0
    message.next = message.then = message.member = NO_INDEX


@njit
def join(state: Any, number: int) -> None:
    """The message is to come at its time, in the order of instants and of keys among those of that time."""
    counts, messages = state.counts, state.messages
    message = messages[INDEX(number)]
    if counts[COMING] == NONE or not _before(message, messages[INDEX(counts[COMING_LAST])]):
        message.next = NO_INDEX
        if counts[COMING] == NONE:
            counts[COMING] = number
        else:
            messages[INDEX(counts[COMING_LAST])].next = number
        counts[COMING_LAST] = number
        return
    place, earlier = counts[COMING], NONE
    while not _before(message, messages[INDEX(place)]):
        earlier, place = place, messages[INDEX(place)].next
    message.next = place
    if earlier == NONE:
        counts[COMING] = number
    else:
        messages[INDEX(earlier)].next = number


@inlined
def _before(message: Any, other: Any) -> bool:
    if message.time != other.time:
        sooner: bool = message.time < other.time
        return sooner
    if message.after != other.after:
        earlier: bool = message.after < other.after
        return earlier
    first: bool = message.key < other.key
    return first


@inlined
def arrive(state: Any, number: int, flits: int, now: int, stops: bool) -> None:
    """A packet is at one of its nodes, whole."""
    message = state.messages[number]
    message.arrived += flits
    message.left -= 1
    state.counts[ARRIVED] += flits
    if message.left == 0:
        end(state, number, now, stops)


@inlined
def end(state: Any, number: int, now: int, stops: bool) -> None:
    """All packets of a message have arrived: what waited for it goes from the next cycle on, and if it was the last of
    its shipment, that has ended; where the network ``stops`` at that, its records are free.
    """
    message = state.messages[INDEX(number)]
    message.ended = now
    state.counts[UNDER_WAY] -= 1
    if message.then != NO_INDEX:
        _release(state, message.then, now + 1)
    whole = state.messages[message.whole]
    whole.parts -= 1
    if stops and whole.parts == 0:
        whole.ended = now
        done = state.done
        done[0] += 1
        done[INDEX(done[0])] = message.whole
        _give_back(state, message.whole)


@njit
def _release(state: Any, number: int, time: int) -> None:
    while number != NO_INDEX:
        message = state.messages[INDEX(number)]
        following = message.next
        message.time, message.made, message.after = time, time, 0
        join(state, number)
        number = following


@njit
def _give_back(state: Any, number: int) -> None:
    counts, messages = state.counts, state.messages
    while number != NO_INDEX:
        message = messages[INDEX(number)]
        message.next = NO_INDEX if counts[SPARE] == NONE else counts[SPARE]
        counts[SPARE] = number
        number = message.member


@inlined
def _following(message: Any) -> int:
    found: int = NONE if message.next == NO_INDEX else message.next
    return found


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
