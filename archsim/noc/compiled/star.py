"""Reservations where all nodes stand at one router, as far from it as one another: a step in a loop for each packet.

Heads reach the router in the order in which they are sent, and nothing else does. So a packet's output is reserved when
its node sends it. At an output packets leave in that order, those of a message too, and what makes one of them late is
a packet behind it: none arrives after its message's last one. So only that one has turns at the router and at its node,
where others see when it comes; the rest are as good as there.

A node has one turn at a time. Those of a cycle stand in a row of ``ring``, their number first, in order; a packet's
turn says how many of them go before it (``behind``). So both have their turns as if they stood in one list. The
messages of a node's queue are a circle: after the last one comes the first one again.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.facts.noc.routers import MOST_PORTS
from archsim.noc.compiled.bits import lowest
from archsim.noc.compiled.knuth import below
from archsim.noc.compiled.node_queues import next_time
from archsim.noc.compiled.records import (
    ARRIVED,
    AT_NODE,
    AT_SOURCE,
    BASE,
    COMING,
    FREE,
    INDEX,
    LATE,
    NO_INDEX,
    NO_PORT,
    NONE,
    NUMBER,
    NUMBER_BITS,
    ORDER,
    SPAN,
    TURNS,
    UNDER_WAY,
    WORD_BITS,
)
from archsim.noc.compiled.shipping import arrive
from archsim.noc.compiled.turns import pop, push


@inlined
def lacks_room(state: Any) -> bool:
    """Whether the packets that nodes send in a cycle might find no records."""
    rules = state.rules[0]
    branches = rules.ports if state.trees.shape[0] else 1
    found: bool = state.sizes[TURNS] + rules.nodes * (branches + 1) >= state.turns.size
    return found


@inlined
def run_star(state: Any, now: int, stops: bool) -> None:
    """A cycle: messages join their nodes' queues, then nodes and packets have their turns."""
    sizes = state.sizes
    if now > sizes[BASE]:
        sizes[BASE] = now
        _move_on(state, now)
    if next_time(state) == now:
        _start(state, now)
    cycle = now & (SPAN - 1)
    row, lane = INDEX(cycle), state.lanes[INDEX(cycle)]
    count, place, last = NUMBER(state.ring[row, 0]), lane.first, lane.last
    lane.first = NO_INDEX
    before = _send_plain(state, 0, count, now)
    while before < count:
        while place != NO_INDEX and state.turns[place].behind <= before:
            place = _take_packet(state, place, last, now, stops)
        _send(state, INDEX(state.ring[row, INDEX(before + 1)]), now)
        before = _send_plain(state, before + 1, count, now)
    while place != NO_INDEX:
        place = _take_packet(state, place, last, now, stops)
    state.ring[row, 0] = 0
    state.listed[INDEX(cycle >> WORD_BITS)] &= ~(1 << (cycle & ((1 << WORD_BITS) - 1)))


@njit
def _move_on(state: Any, now: int) -> None:
    """Cycle ``now`` is the first that is still to be run: what comes soon leaves the heap."""
    sizes, nodes = state.sizes, state.rules[0].nodes
    while sizes[LATE] and state.late_times[0] < now + SPAN:
        time, entry = state.late_times[0], state.late_entries[0]
        sizes[LATE] = pop(state.late_times, state.late_entries, sizes[LATE])
        what = entry & ((1 << NUMBER_BITS) - 1)
        if what < nodes:
            _put_node(state, time, what)
        else:
            _put_packet(state, time, what - nodes)


@inlined
def _put_late(state: Any, time: int, what: int) -> None:
    sizes = state.sizes
    sizes[ORDER] += 1
    sizes[LATE] = push(state.late_times, state.late_entries, sizes[LATE], time, sizes[ORDER] << NUMBER_BITS | what)


@inlined
def _put_node(state: Any, time: int, number: int) -> None:
    """The turn of a node is to come at ``time``."""
    if time >= state.sizes[BASE] + SPAN:
        _put_late(state, time, number)
        return
    cycle = time & (SPAN - 1)
    row = INDEX(cycle)
    count = NUMBER(state.ring[row, 0]) + 1
    state.ring[row, 0] = count
    state.ring[row, INDEX(count)] = number
    if count == 1:
        state.listed[INDEX(cycle >> WORD_BITS)] |= 1 << (cycle & ((1 << WORD_BITS) - 1))


@inlined
def _put_packet(state: Any, time: int, place: int) -> None:
    """The turn of the packet in record ``place`` is to come at ``time``."""
    if time >= state.sizes[BASE] + SPAN:
        _put_late(state, time, state.rules[0].nodes + place)
        return
    cycle = time & (SPAN - 1)
    row, lane = INDEX(cycle), state.lanes[INDEX(cycle)]
    state.turns[INDEX(place)].behind = state.ring[row, 0]
    if lane.first == NO_INDEX:
        lane.first = place
    else:
        state.turns[lane.last].next = place
    lane.last = place
    state.listed[INDEX(cycle >> WORD_BITS)] |= 1 << (cycle & ((1 << WORD_BITS) - 1))


@njit
def _start(state: Any, now: int) -> None:
    """Messages whose time has come join the queues; a node that had none sends as soon as it is free."""
    counts = state.counts
    while counts[COMING] != NONE and state.messages[INDEX(counts[COMING])].time <= now:
        number = INDEX(counts[COMING])
        message = state.messages[number]
        node = state.nodes[INDEX(message.source)]
        counts[COMING] = NONE if message.next == NO_INDEX else message.next
        counts[UNDER_WAY] += 1
        counts[AT_SOURCE] += 1
        if node.first == NO_INDEX:
            node.first = message.next = number
            _put_node(state, max(now, state.entries[INDEX(message.source)].free), message.source)
        else:
            message.next = node.first
            state.messages[node.last].next = number
        node.last = number


@inlined
def _send_plain(state: Any, before: int, count: int, now: int) -> int:
    """Nodes send, behind the first ``before`` of ``count``, up to one whose packet is not like most: how many have.

    Most packets are as long as can be, not a message's last one, and go one way to one node. They make no turns but
    those of their nodes, all in the same cycle; so it does not matter how they come between packets' turns.
    """
    rules = state.rules[0]
    most, nodes = rules.packet_flits, rules.nodes
    size, head = most + rules.header_flits, state.entries[0].cycles + state.pipeline
    if size >= SPAN:
        return before
    cycle = (now + size) & (SPAN - 1)
    found = _send_alike(
        state.ring[INDEX(now & (SPAN - 1))], state.ring[INDEX(cycle)], state.nodes, state.entries, state.messages,
        state.routes[0], state.outputs, state.turns, before, count, now, most, size, now + head, nodes,
    )  # fmt: skip
    if found > before:
        state.listed[INDEX(cycle >> WORD_BITS)] |= 1 << (cycle & ((1 << WORD_BITS) - 1))
    return found


@njit
def _send_alike(
    row: Any, later: Any, of_nodes: Any, entries: Any, messages: Any, routes: Any, outputs: Any, turns: Any,
    before: int, count: int, now: int, most: int, size: int, asks: int, nodes: int,
) -> int:  # fmt: skip
    """As said above, with ``later`` the row of the cycle in which these nodes can send again; nothing is read twice."""
    kept = NUMBER(later[0])
    while before < count:
        number = INDEX(row[INDEX(before + 1)])
        node, entry = of_nodes[number], entries[number]
        first = node.first
        message = messages[first]
        rest, where = message.rest, message.where
        if rest <= most or where >= nodes:
            break
        route = routes[INDEX(where)]
        if route.other_port != NO_PORT:
            break
        if rest == message.flits:
            message.started = now
        message.rest = rest - most
        node.first, node.last = message.next, first
        entry.free = now + size
        entry.flits += size
        output = outputs[INDEX(route.port)]
        free, last = output.free, output.last
        if free > asks and last != NO_INDEX and output.last_came_by != number:
            turns[last].lag += min(free - asks, size)
        output.free = max(free, asks) + size
        output.flits += size
        output.last = NO_INDEX
        kept += 1
        later[INDEX(kept)] = number
        before += 1
    later[0] = kept
    return before


@inlined
def _send(state: Any, number: int, now: int) -> None:
    """The node sends a packet of its first message, through the router."""
    rules, node, entry = state.rules[0], state.nodes[number], state.entries[number]
    first = node.first
    message = state.messages[first]
    rest, where = message.rest, message.where
    payload = min(rest, rules.packet_flits)
    size = payload + rules.header_flits
    if rest == message.flits:
        message.started = now
    message.rest = rest - payload
    entry.free = now + size
    entry.flits += size
    if where >= rules.nodes:
        tree = state.trees[where - rules.nodes, 0, 0]
        for word in range(tree.shape[0]):
            outputs = tree[word]
            while outputs:
                _reserve(state, number, word * MOST_PORTS + INDEX(lowest(outputs)), size, rest == payload, now)
                outputs &= outputs - 1
    else:
        route = state.routes[0, INDEX(where)]
        port = route.port
        if route.other_port != NO_PORT and below(state.streams, 2) == 0:
            port = route.other_port
        _reserve(state, number, port, size, rest == payload, now)
    following = message.next
    if rest > payload:
        node.first, node.last = following, first
    else:
        _sent_whole(state, message, payload)
        if following == first:
            node.first = NO_INDEX
            return
        state.messages[node.last].next = node.first = following
    _put_node(state, entry.free, number)


@inlined
def _sent_whole(state: Any, message: Any, payload: int) -> None:
    """A message's last packet has been sent, of so many flits without header: those before are as good as there."""
    rules = state.rules[0]
    before = (message.flits - payload) // rules.packet_flits
    state.counts[AT_SOURCE] -= 1
    message.left //= before + 1
    flits = message.left * (message.flits - payload + before * rules.header_flits)
    message.arrived += flits
    state.counts[ARRIVED] += flits


@inlined
def _reserve(state: Any, number: int, port: int, size: int, is_last: bool, now: int) -> None:
    """An output of the router for the packet that node ``number`` sends, as ``reserve`` when the head is there."""
    output, head = state.outputs[INDEX(port)], now + state.entries[number].cycles
    asks, free = head + state.pipeline, output.free
    if free > asks and output.last != NO_INDEX and output.last_came_by != number:
        state.turns[output.last].lag += min(free - asks, size)
    output.free = max(free, asks) + size
    output.flits += size
    output.last = NO_INDEX
    if is_last:
        _add_packet(state, output, number, size, head)


@inlined
def _add_packet(state: Any, output: Any, number: int, size: int, head: int) -> None:
    """The last packet of a message, which has passed the output, in a record of its own."""
    sizes = state.sizes
    place = INDEX(sizes[FREE])
    turn = state.turns[place]
    sizes[FREE] = turn.next
    sizes[TURNS] += 1
    turn.message, turn.flits, turn.at, turn.lag = state.nodes[number].first, size, 0, 0
    turn.due = output.free + output.cycles - 1
    output.last, output.last_came_by = place, number
    _put_packet(state, head, place)


@inlined
def _take_packet(state: Any, place: int, last: int, now: int, stops: bool) -> int:
    """The turn of a packet: it is at the router, or at its node; the record of the next one of the cycle."""
    turn = state.turns[place]
    following = NO_INDEX if place == last else turn.next
    if turn.at != AT_NODE:
        turn.at = AT_NODE
        _put_packet(state, turn.due, place)
    elif now < turn.due + turn.lag:
        _put_packet(state, turn.due + turn.lag, place)
    else:
        turn.next = state.sizes[FREE]
        state.sizes[FREE] = place
        state.sizes[TURNS] -= 1
        arrive(state, turn.message, turn.flits, now, stops)
    found: int = INDEX(following)
    return found
