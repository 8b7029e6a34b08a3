"""The network as reservations: each link serves heads in the order in which they reach its router.

A packet of L flits holds a link for L cycles from when its head passes the switch; buffers and virtual channels have no
end. Packets that reach a router by different links share an output flit by flit: the second ends as if it had waited
for the first one's rest, and the first ends later by as many flits as the second puts between its own. Without rivals
all this is exact; under load it leaves out what waits for buffers and allocators. A packet to several nodes holds each
link of its tree once.

In a cycle messages join their nodes' queues first, then packets and nodes have their turns in the order in which they
became known: the same whatever is known of later cycles.

Turns of the next SPAN cycles stand in a list for each cycle, later ones in a heap, which is two arrays whose size the
caller keeps. They move from there into the lists as time goes on: before anything else can be put there, so that each
list is in order.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import entry, inlined, njit
from archsim.noc.compiled.bits import lowest
from archsim.noc.compiled.knuth import below
from archsim.noc.compiled.node_queues import next_packet, next_time, start
from archsim.noc.compiled.records import (
    ARRIVED,
    AT_NODE,
    BASE,
    FREE,
    FULL,
    INDEX,
    LATE,
    NEVER,
    NO_INDEX,
    NO_PORT,
    NONE,
    NOW,
    NUMBER_BITS,
    ORDER,
    SPAN,
    TURNS,
    UNDER_WAY,
    WORD_BITS,
    WORDS,
)
from archsim.noc.compiled.shipping import end, first_to_come


@njit
def push(times: Any, entries: Any, size: int, time: int, entry: int) -> int:
    """Add an entry; the new size. Equal times go by the entries."""
    place = size
    while place:
        above = (place - 1) // 2
        if not _before(time, entry, times[above], entries[above]):
            break
        times[place], entries[place] = times[above], entries[above]
        place = above
    times[place], entries[place] = time, entry
    return size + 1


@njit
def pop(times: Any, entries: Any, size: int) -> int:
    """Take away the first entry, which the caller has read; the new size."""
    size -= 1
    time, entry = times[size], entries[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(times[child + 1], entries[child + 1], times[child], entries[child]):
            child += 1
        if not _before(times[child], entries[child], time, entry):
            break
        times[place], entries[place] = times[child], entries[child]
        place = child
    times[place], entries[place] = time, entry
    return size


@inlined
def _before(time: int, entry: int, other_time: int, other_entry: int) -> bool:
    sooner: bool = time < other_time or (time == other_time and entry < other_entry)
    return sooner


@inlined
def put(state: Any, time: int, place: int) -> None:
    """The turn of record ``place`` is to come at ``time``, which is not before the cycle that is run."""
    sizes = state.sizes
    sizes[ORDER] += 1
    sizes[TURNS] += 1
    if time < sizes[BASE] + SPAN:
        _list(state, time, place)
    else:
        entry = sizes[ORDER] << NUMBER_BITS | place
        sizes[LATE] = push(state.late_times, state.late_entries, sizes[LATE], time, entry)


@inlined
def first_time(state: Any) -> int:
    """Of the first turn, NEVER if there is none."""
    base, listed = state.sizes[BASE], state.listed
    first = base & (SPAN - 1)
    word, low = first >> WORD_BITS, first & ((1 << WORD_BITS) - 1)
    members = listed[INDEX(word)] >> low << low
    for _ in range(WORDS):
        if members:
            break
        word = (word + 1) & (WORDS - 1)
        members = listed[INDEX(word)]
    if members:
        found: int = base + (((word << WORD_BITS) + lowest(members) - first) & (SPAN - 1))
        return found
    late: int = state.late_times[0] if state.sizes[LATE] else NEVER
    return late


@njit
def move_on(state: Any, now: int) -> None:
    """Cycle ``now`` is the first that is still to be run."""
    sizes = state.sizes
    sizes[BASE] = now
    while sizes[LATE] and state.late_times[0] < now + SPAN:
        time, entry = state.late_times[0], state.late_entries[0]
        sizes[LATE] = pop(state.late_times, state.late_entries, sizes[LATE])
        _list(state, time, entry & ((1 << NUMBER_BITS) - 1))


@inlined
def take(state: Any, now: int) -> int:
    """The record of the first turn, which is of ``now``."""
    state.sizes[TURNS] -= 1
    cycle = now & (SPAN - 1)
    lane = state.lanes[INDEX(cycle)]
    place: int = INDEX(lane.first)
    if lane.first == lane.last:
        state.listed[INDEX(cycle >> WORD_BITS)] &= ~(1 << (cycle & ((1 << WORD_BITS) - 1)))
    else:
        lane.first = state.turns[place].next
    return place


@inlined
def _list(state: Any, time: int, place: int) -> None:
    cycle = time & (SPAN - 1)
    word, bit = INDEX(cycle >> WORD_BITS), cycle & ((1 << WORD_BITS) - 1)
    lane = state.lanes[INDEX(cycle)]
    if state.listed[word] >> bit & 1:
        state.turns[lane.last].next = place
    else:
        state.listed[word] |= 1 << bit
        lane.first = place
    lane.last = place


@entry
@njit
def advance(state: Any, until: int, stops: bool, afresh: bool) -> tuple[int, int]:
    """As ``run.advance``: how many of ``state.done`` ended, if it ``stops`` at that, and the bound of ``ending.bound``;
    FULL when there might be no room for further turns: make room and go on, not ``afresh``.
    """
    counts, sizes = state.counts, state.sizes
    if afresh:
        state.done[0] = 0
    end = counts[NOW] + 1 if state.done[0] else until
    while not is_full(state):
        now = min(next_time(state), first_time(state))
        if now >= end:
            counts[NOW] = max(counts[NOW], end)
            return state.done[0], _bound(state)
        counts[NOW] = now
        if now > sizes[BASE]:
            move_on(state, now)
        if next_time(state) == now:
            counts[UNDER_WAY] += start(state, now)
            _plan(state, now)
        else:
            _take_turn(state, now, stops)
            end = now + 1 if state.done[0] else end
    return state.done[0], FULL


@entry
@njit
def is_full(state: Any) -> bool:
    """Whether an event might make more turns than there are records left."""
    rules = state.rules[0]
    found: bool = state.sizes[TURNS] + rules.ports + rules.nodes >= state.turns.size
    return found


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
        _add(state, max(now, state.entries[number].free), NO_INDEX, 0, number)
    sending[0] = 0


@inlined
def _add(state: Any, time: int, message: int, flits: int, at: int) -> Any:
    """A turn in a record of its own, which is returned."""
    sizes = state.sizes
    place = INDEX(sizes[FREE])
    turn = state.turns[place]
    sizes[FREE] = turn.next
    turn.message, turn.flits, turn.at, turn.lag, turn.spread, turn.waited = message, flits, at, 0, 0, 0
    turn.number = sizes[ORDER]
    put(state, time, place)
    return turn


@inlined
def _drop(state: Any, place: int) -> None:
    turn = state.turns[place]
    turn.number = NONE
    turn.next = state.sizes[FREE]
    state.sizes[FREE] = place


@inlined
def _take_turn(state: Any, now: int, stops: bool) -> None:
    place = take(state, now)
    turn = state.turns[place]
    if turn.message == NO_INDEX:
        number = turn.at
        _drop(state, place)
        _send(state, number, now)
    elif turn.at != AT_NODE:
        _pass_router(state, place, turn, now)
    elif now < turn.due + turn.lag:
        put(state, turn.due + turn.lag, place)
    else:
        _drop(state, place)
        _arrive(state, turn.message, turn.flits, now, stops)


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
    sent = _add(state, now + entry.cycles, node.first, node.size, entry.router)
    sent.came_by = state.outputs.size + number
    next_packet(state, node, message)
    if node.first != NO_INDEX:
        _add(state, entry.free, NO_INDEX, 0, number)


@inlined
def _pass_router(state: Any, place: int, packet: Any, now: int) -> None:
    """A head reserves the outputs of the router that it needs; from there on each branch is a packet."""
    rules = state.rules[0]
    where, router = state.messages[packet.message].where, packet.at
    if where >= rules.nodes:
        outputs = state.trees[where - rules.nodes, router, 0]
        while outputs & (outputs - 1):
            _pass_branch(state, packet, router * rules.ports + lowest(outputs), now)
            outputs &= outputs - 1
        _pass(state, place, packet, router * rules.ports + lowest(outputs), now)
        return
    route = state.routes[router, where]
    port = route.port
    if route.other_port != NO_PORT and below(state.streams, 2) == 0:
        port = route.other_port
    _pass(state, place, packet, router * rules.ports + port, now)


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


@inlined
def _arrive(state: Any, number: int, flits: int, now: int, stops: bool) -> None:
    """A packet is at one of its nodes, whole."""
    message = state.messages[number]
    message.arrived += flits
    message.left -= 1
    state.counts[ARRIVED] += flits
    if message.left == 0:
        end(state, number, now, stops)
