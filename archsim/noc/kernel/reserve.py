"""The network as reservations: each link serves heads in the order in which they reach its router.

A packet of L flits holds a link for L cycles from when its head passes the switch; buffers and virtual channels have no
end. Without rivals it is exact; under load it leaves out what waits for buffers and allocators. A packet to several
nodes holds each link of its tree once.

In a cycle messages join their nodes' queues first, then heads and nodes have their turns in the order in which they
became known: the same whatever is known of later cycles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.kernels import inlined, njit
from archsim.noc.kernel.bits import lowest
from archsim.noc.kernel.ending import first_to_come
from archsim.noc.kernel.heap import pop, push
from archsim.noc.kernel.knuth import below
from archsim.noc.kernel.layout import (
    ARRIVED,
    INDEX,
    NEVER,
    NO_INDEX,
    NO_PORT,
    NOW,
    UNDER_WAY,
    Index,
    Small,
    Tiny,
)
from archsim.noc.kernel.sources import next_packet, next_time, start
from archsim.records import record

NUMBER_BITS = 28  # of a record in a heap's entry, below a number that says in which order entries became known
# of Reservations.sizes: entries of both heaps, all so far, the first unused record
TURNS, ENDS, ORDER, FREE = range(4)
SIZES = 4


class Turn:
    """The head of a packet of ``flits`` at a router, or a node that can send (``message``: NO_INDEX)."""

    message: Index
    flits: Small
    at: Small
    free: Index  # of an unused record: the next one


class Output:
    """A router's output port: the cycle from which it is free, flits so far, the router at its other end and the cycles
    to there; ``sink``: a node is there."""

    free: int
    flits: int
    to: Small
    cycles: Small
    sink: Tiny


class Entry:
    """A node: the cycle from which it is free, its router and the cycles to there, the flits that it has sent."""

    free: int
    flits: int
    router: Small
    cycles: Small


TURN, OUTPUT, ENTRY = map(record, (Turn, Output, Entry))


class Reservations(NamedTuple):
    """All arrays; as in ``layout.State`` those of the same names. ``turn_*``, ``end_*``: heaps by time: of turns to
    come and of messages whose end is known. ``pipeline``: cycles of a head in a router before the switch."""

    rules: Any
    routes: Any
    trees: Any
    messages: Any
    done: Any
    sending: Any  # nodes that have just got a message and had none
    nodes: Any
    entries: Any
    outputs: Any
    turns: Any
    turn_times: Any
    turn_entries: Any
    end_times: Any
    end_entries: Any
    sizes: Any
    streams: Any
    counts: Any
    pipeline: int


@njit
def advance(state: Any, until: int, stops: bool, afresh: bool) -> tuple[int, bool]:
    """As ``run.advance``: how many of ``state.done`` ended, if it ``stops`` at that, and whether it is ready; not when
    there might be no room for further turns: make room and go on, not ``afresh``.
    """
    counts, sizes = state.counts, state.sizes
    if afresh:
        state.done[0] = 0
    end = counts[NOW] + 1 if state.done[0] else until
    while not is_full(state):
        now = min(next_time(state), _next(state.turn_times, sizes[TURNS]), _next(state.end_times, sizes[ENDS]))
        if now >= end:
            counts[NOW] = max(counts[NOW], end)
            return state.done[0], True
        counts[NOW] = now
        if next_time(state) == now:
            counts[UNDER_WAY] += start(state, now)
            _plan(state, now)
        elif _next(state.turn_times, sizes[TURNS]) == now:
            _take_turn(state, now)
        else:
            _end(state, stops)
            end = now + 1 if stops else end
    return state.done[0], False


@njit
def is_full(state: Any) -> bool:
    """Whether an event might make more turns than there are records left."""
    rules = state.rules[0]
    found: bool = state.sizes[TURNS] + rules.ports + rules.nodes >= state.turns.size
    return found


@njit
def bound(state: Any) -> int:
    """As ``ending.bound``."""
    sizes, now = state.sizes, state.counts[NOW]
    found: int = min(first_to_come(state), _next(state.end_times, sizes[ENDS]))
    if sizes[TURNS]:
        found = min(found, state.turn_times[0] + state.pipeline + state.rules[0].sink_cycles)
    return found if found > now else now


@inlined
def _next(times: Any, size: int) -> int:
    time: int = times[0] if size else NEVER
    return time


@inlined
def _plan(state: Any, now: int) -> None:
    """Nodes that have just got a message send as soon as they are free."""
    sending = state.sending
    for place in range(1, sending[0] + 1):
        number = sending[place]
        _add(state, max(now, state.entries[number].free), NO_INDEX, 0, number)
    sending[0] = 0


@inlined
def _add(state: Any, time: int, message: int, flits: int, at: int) -> None:
    sizes = state.sizes
    number = sizes[FREE]
    turn = state.turns[INDEX(number)]
    sizes[FREE] = turn.free
    turn.message, turn.flits, turn.at = message, flits, at
    sizes[ORDER] += 1
    sizes[TURNS] = push(state.turn_times, state.turn_entries, sizes[TURNS], time, sizes[ORDER] << NUMBER_BITS | number)


@inlined
def _take_turn(state: Any, now: int) -> None:
    sizes = state.sizes
    number = INDEX(state.turn_entries[0] & ((1 << NUMBER_BITS) - 1))
    sizes[TURNS] = pop(state.turn_times, state.turn_entries, sizes[TURNS])
    turn = state.turns[number]
    turn.free = sizes[FREE]
    sizes[FREE] = number
    message, flits, at = turn.message, turn.flits, turn.at
    if message == NO_INDEX:
        _send(state, at, now)
    else:
        _pass_router(state, message, flits, at, now)


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
    _add(state, now + entry.cycles, node.first, node.size, entry.router)
    next_packet(state, node, message)
    if node.first != NO_INDEX:
        _add(state, entry.free, NO_INDEX, 0, number)


@inlined
def _pass_router(state: Any, number: int, flits: int, router: int, now: int) -> None:
    """A head reserves the outputs of the router that it needs."""
    rules = state.rules[0]
    where = state.messages[number].where
    if where >= rules.nodes:
        outputs = state.trees[where - rules.nodes, router, 0]
        while outputs:
            _pass(state, number, flits, router * rules.ports + lowest(outputs), now)
            outputs &= outputs - 1
        return
    route = state.routes[router, where]
    port = route.port
    if route.other_port != NO_PORT and below(state.streams, 2) == 0:
        port = route.other_port
    _pass(state, number, flits, router * rules.ports + port, now)


@inlined
def _pass(state: Any, number: int, flits: int, place: int, now: int) -> None:
    output = state.outputs[place]
    passes = max(now + state.pipeline, output.free)
    output.free = passes + flits
    output.flits += flits
    reached = passes + output.cycles
    if output.sink:
        _arrive(state, number, flits, reached + flits - 1)
    else:
        _add(state, reached, number, flits, output.to)


@inlined
def _arrive(state: Any, number: int, flits: int, ended: int) -> None:
    """A packet will be at one of its nodes at ``ended``, whole: of the message's last one that is the end."""
    whole = state.messages[number].whole
    message = state.messages[whole]
    message.arrived += flits
    message.left -= 1
    message.ended = max(message.ended, ended)
    state.counts[ARRIVED] += flits
    if message.left == 0:
        sizes = state.sizes
        sizes[ORDER] += 1
        sizes[ENDS] = push(
            state.end_times, state.end_entries, sizes[ENDS], message.ended, sizes[ORDER] << NUMBER_BITS | whole
        )


@inlined
def _end(state: Any, stops: bool) -> None:
    sizes = state.sizes
    number = INDEX(state.end_entries[0] & ((1 << NUMBER_BITS) - 1))
    sizes[ENDS] = pop(state.end_times, state.end_entries, sizes[ENDS])
    state.counts[UNDER_WAY] -= 1
    if stops:
        state.done[0] += 1
        state.done[INDEX(state.done[0])] = number
