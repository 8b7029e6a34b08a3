"""The network as reservations: each link serves heads in the order in which they reach its router.

A packet of L flits holds a link for L cycles from when its head passes the switch; buffers and virtual channels have no
end. Packets that reach a router by different links share an output flit by flit: the second ends as if it had waited
for the first one's rest, and the first ends later by as many flits as the second puts between its own. Without rivals
all this is exact; under load it leaves out what waits for buffers and allocators. A packet to several nodes holds each
link of its tree once.

In a cycle messages join their nodes' queues first, then packets and nodes have their turns in the order in which they
became known: the same whatever is known of later cycles.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import entry, inlined, njit
from archsim.facts.noc.routers import MOST_PORTS
from archsim.noc.compiled.bits import lowest
from archsim.noc.compiled.knuth import below
from archsim.noc.compiled.node_queues import next_packet, next_time, start
from archsim.noc.compiled.records import (
    AT_NODE,
    BASE,
    FREE,
    FULL,
    INDEX,
    NEVER,
    NO_INDEX,
    NO_PORT,
    NOW,
    ORDER,
    UNDER_WAY,
)
from archsim.noc.compiled.shipping import arrive, first_to_come
from archsim.noc.compiled.star import lacks_room, run_star
from archsim.noc.compiled.turns import add, drop, first_time, has_turn, is_full, move_on, put, take


@entry
@njit
def advance(state: Any, until: int, stops: bool, afresh: bool) -> tuple[int, int]:
    """As ``run.advance``: how many of ``state.done`` ended, if it ``stops`` at that, and the bound of ``ending.bound``;
    FULL when there might be no room for further turns: make room and go on, not ``afresh``.
    """
    counts = state.counts
    if afresh:
        state.done[0] = 0
    end = counts[NOW] + 1 if state.done[0] else until
    while not (lacks_room(state) if state.is_star else is_full(state)):
        now = min(next_time(state), first_time(state))
        if now >= end:
            counts[NOW] = max(counts[NOW], end)
            return state.done[0], _bound(state)
        counts[NOW] = now
        if state.is_star:
            run_star(state, now, stops)
        else:
            _run_cycle(state, now, stops)
        end = now + 1 if state.done[0] else end
    return state.done[0], FULL


@inlined
def _run_cycle(state: Any, now: int, stops: bool) -> None:
    """All of a cycle, as far as there is room: what happens in it adds nothing to its messages."""
    if now > state.sizes[BASE]:
        move_on(state, now)
    if next_time(state) == now:
        state.counts[UNDER_WAY] += start(state, now)
        _plan(state, now)
    while has_turn(state, now) and not is_full(state):
        _take_turn(state, now, stops)


@inlined
def _bound(state: Any) -> int:
    """As ``ending.bound``."""
    found: int = min(first_to_come(state), first_time(state))
    return max(found, state.counts[NOW]) if found < NEVER else found


@inlined
def _plan(state: Any, now: int) -> None:
    """Nodes that have just got a message send as soon as they are free."""
    sending = state.sending
    for place in range(1, sending[0] + 1):
        number = sending[place]
        add(state, max(now, state.entries[number].free), NO_INDEX, 0, number)
    sending[0] = 0


@inlined
def _take_turn(state: Any, now: int, stops: bool) -> None:
    place = take(state, now)
    turn = state.turns[place]
    if turn.message == NO_INDEX:
        number = turn.at
        drop(state, place)
        _send(state, number, now)
    elif turn.at != AT_NODE:
        _pass_router(state, place, turn, now)
    elif now < turn.due + turn.lag:
        put(state, turn.due + turn.lag, place)
    else:
        drop(state, place)
        arrive(state, turn.message, turn.flits, now, stops)


@inlined
def _send(state: Any, number: int, now: int) -> None:
    """The node sends a packet of its first message."""
    rules = state.rules[0]
    node, entry = state.nodes[number], state.entries[number]
    message = state.messages[node.first]
    if message.rest == message.flits:
        message.started = now
    node.size = min(message.rest, rules.packet_flits) + rules.header_flits
    entry.free = now + node.size
    entry.flits += node.size
    sent = add(state, now + entry.cycles, node.first, node.size, entry.router)
    sent.came_by = state.outputs.size + number
    next_packet(state, node, message)
    if node.first != NO_INDEX:
        add(state, entry.free, NO_INDEX, 0, number)


@inlined
def _pass_router(state: Any, place: int, packet: Any, now: int) -> None:
    """A head reserves the outputs of the router that it needs; from there on each branch is a packet."""
    rules = state.rules[0]
    where, router = state.messages[packet.message].where, packet.at
    if where >= rules.nodes:
        _pass_tree(state, place, packet, state.trees[where - rules.nodes, router, 0], now)
        return
    route = state.routes[router, where]
    port = route.port
    if route.other_port != NO_PORT and below(state.streams, 2) == 0:
        port = route.other_port
    _pass(state, place, packet, router * rules.ports + port, now)


@inlined
def _pass_tree(state: Any, place: int, packet: Any, ports: Any, now: int) -> None:
    """Out of every port of a set, in order; the last branch is the packet itself."""
    first, held = packet.at * state.rules[0].ports, NO_INDEX
    for word in range(ports.size):
        outputs = ports[word]
        while outputs:
            if held != NO_INDEX:
                _pass_branch(state, packet, first + held, now)
            held = INDEX(word * MOST_PORTS + INDEX(lowest(outputs)))
            outputs &= outputs - 1
    _pass(state, place, packet, first + held, now)


@inlined
def _pass_branch(state: Any, packet: Any, number: int, now: int) -> None:
    """One of several branches, in a record of its own."""
    sizes = state.sizes
    place = INDEX(sizes[FREE])
    branch = state.turns[place]
    sizes[FREE] = branch.next
    branch.message, branch.flits, branch.number = packet.message, packet.flits, sizes[ORDER]
    branch.came_by, branch.lag, branch.spread, branch.waited = packet.came_by, packet.lag, packet.spread, packet.waited
    _pass(state, place, branch, number, now)


@inlined
def _pass(state: Any, place: int, packet: Any, number: int, now: int) -> None:
    """Of packets that come by different ways the router sends flits in turn: what the second has to wait for the first
    one, the last flit of the first waits for it, unless its head waits as long elsewhere."""
    output = state.outputs[number]
    asks = now + state.pipeline
    wait = max(0, output.free - asks)
    taken, late = packet.flits, 0
    if output.slow:
        taken, late = _take_slow(output, packet.flits, asks + wait)
    if wait and output.last_came_by != packet.came_by:
        before = state.turns[output.last]
        if before.number == output.last_number:
            elsewhere = before.waited - output.last_waited
            before.lag += max(0, min(wait, taken) - elsewhere)
    packet.waited += wait
    if packet.spread or output.slow:  # flits gain on their head while it waits, and is routed
        packet.spread = max(0, taken - packet.flits, packet.spread - max(0, wait - packet.lag) - state.pipeline)
    packet.lag = max(0, packet.lag - wait)
    output.last, output.last_number = place, packet.number
    output.last_came_by, output.last_waited = packet.came_by, packet.waited
    output.free = output.until // output.denominator if output.slow else asks + wait + taken
    output.flits += packet.flits
    packet.came_by = number
    reached = asks + wait + output.cycles + late
    if output.sink:
        packet.at, packet.due = AT_NODE, reached + packet.flits - 1 + packet.spread
        put(state, packet.due + packet.lag, place)
    else:
        packet.at = output.to
        put(state, reached, place)


@njit
def _take_slow(output: Any, flits: int, at: int) -> tuple[int, int]:
    """Flits enter a slow link from cycle ``at`` on: cycles from the first one's arrival to after the last one's, and
    those by which the first is later than over a link of a flit a cycle."""
    began = max(output.until, at * output.denominator)
    output.until = began + flits * output.numerator
    first = -(-(began + output.numerator) // output.denominator)
    return -(-output.until // output.denominator) - first + 1, first - at - 1
