"""The network as a model beside the event loop: requests in, completions out, called by address.

A request is for a load, whose messages are written down, or for a route from an address on: its parts go to or come
from the ports that take turns there, and the messages are made here. What the machine and its models tell one another
is in ``archsim.base.served``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.base import served
from archsim.base.addressed import value_at, word_at
from archsim.base.jit import addressed, inlined, njit
from archsim.noc.compiled import reserve, run
from archsim.noc.compiled.records import ARRIVED, ASKS, FULL, INDEX, LED, NEVER, NONE, NOW, PLAIN, SPARE, UNDER_WAY
from archsim.noc.compiled.shipping import take_in

# of the header, behind what all models have: the clock as picoseconds and how many edges they have; the time reached;
# the cycle before which no shipment ends; records that are not used, and how many lack; shipments so far; whether an
# advance was broken off, and what was under way and had arrived when it began
PS, EDGES, NOW_PS, NEXT_END, UNUSED, LACKING, SENT, BROKEN_OFF, AT_FIRST, ARRIVED_FIRST = range(
    served.HEADER, served.HEADER + 10
)
HEADER = served.HEADER + 10
STUCK_CYCLES = 1 << 22  # without an arrival: more than any route, buffer and rival can explain
ID_BITS = 40  # of a shipment's number, below its rank
HALF_BITS = 20  # of picoseconds and edges, which have less than 40
LOAD_WIDTH = 3
LOAD_FIRST, LOAD_LAST, LOAD_LEAST = range(LOAD_WIDTH)  # its rows, and the cycles that it takes at least
ROUTE_WIDTH = 7
# its parts; the first of its fans, for each of so many ports; whether ports send, and the flits of what asks one first
# (then the fans of the requests follow the others); how long a message is
PARTS, PARTS_END, FANS, PORTS, FROM_PORTS, REQUEST_FLITS, MESSAGE_BYTES = range(ROUTE_WIDTH)
PART_WIDTH = 2
OFFSET, FLITS = range(PART_WIDTH)
FACT_WIDTH = 2  # of a fan, then its links and routers level by level
LEAST, FEWEST = range(FACT_WIDTH)  # cycles of one flit, and of a head on its shortest way
ROW_WIDTH = 3
CHAIN_WIDTH = 4  # of the parts of a route: the next one of a port; by turn: the first and last one, whose turn it is
NEXT, FIRST, LAST, TURN = range(CHAIN_WIDTH)


class ServedNetwork(NamedTuple):
    """``rows``: messages of all loads; ``made``, ``chain``: scratch for those of a route; ``used``, ``tickets``: of a
    shipment by its first record, how many records it has, and what the machine calls it; ``charged``: by layer, the
    flits times links and times routers of each level; ``state``: of the fidelity."""

    header: Any
    completions: Any
    loads: Any
    rows: Any
    routes: Any
    parts: Any
    route_fans: Any
    fans: Any
    copies: Any
    facts: Any
    made: Any
    chain: Any
    used: Any
    tickets: Any
    charged: Any
    sources: Any
    state: Any


@addressed
@njit
def submit(kind: Any, table: int, at_ps: int, rows: int, count: int) -> int:
    """Take the requests of an instant; how many of them, fewer where there is no room for more."""
    model = value_at(kind, table)
    header = model.header
    visible = _cycle(header, at_ps + 1)
    after = at_ps - _edge(header, visible - 1)
    taken = 0
    while taken < count and _take(model, rows + 8 * taken * served.REQUEST_WIDTH, visible, after):
        taken += 1
    _look_ahead(header)
    return taken


@njit
def _take(model: Any, row: int, visible: int, after: int) -> bool:
    """Take a request; whether there was room."""
    what, header, counts = word_at(row + 8 * served.WHAT), model.header, model.state.counts
    if what < 0:
        load = model.loads[~what]
        rows, first, last, least = model.rows, load[LOAD_FIRST], load[LOAD_LAST], load[LOAD_LEAST]
    else:
        last, least = _make(model, what, word_at(row + 8 * served.WHERE))
        rows, first = model.made, 0
    records = 0
    for place in range(first, last):
        records += model.fans[rows[place, 0]].copies
    if records > header[UNUSED]:
        header[LACKING] = records - header[UNUSED]
        return False
    header[UNUSED] -= records
    number = word_at(row + 8 * served.ID)
    if number == NONE:
        number = header[SENT]
        header[SENT] += 1
    slot = INDEX(counts[SPARE])
    key = word_at(row + 8 * served.RANK) << ID_BITS | number
    take_in(model.state, model.fans, model.copies, rows, first, last, visible, after, key)
    model.used[slot], model.tickets[slot] = records, word_at(row + 8 * served.TICKET)
    header[NEXT_END] = min(header[NEXT_END], visible + least)
    layer = word_at(row + 8 * served.LAYER)
    if layer != NONE:
        _charge(model, layer, last)
    return True


@njit
def _charge(model: Any, layer: int, count: int) -> None:
    """Charge what has been made to a layer."""
    header = model.state.rules[0].header_flits
    longest = model.state.rules[0].packet_flits
    for place in range(count):
        fan, flits = model.made[place, 0], model.made[place, 1]
        total = flits + header * max(1, -(-flits // longest))
        for column in range(model.charged.shape[1]):
            model.charged[layer, column] += total * model.facts[fan, FACT_WIDTH + column]


@njit
def _make(model: Any, number: int, address: int) -> tuple[int, int]:
    """Write the messages of a route from ``address`` on; how many, and the cycles that they take at least."""
    route = model.routes[number]
    if route[FROM_PORTS]:
        return _from_ports(model, route, address)
    size, longest = 0, 0
    for part in range(route[PARTS], route[PARTS_END]):
        place = _turn((address + model.parts[part, OFFSET]) // route[MESSAGE_BYTES], route[PORTS])
        longest = max(longest, _add(model, size, model.route_fans[route[FANS] + place], part, PLAIN))
        size += 1
    return size, longest - 1


@njit
def _from_ports(model: Any, route: Any, address: int) -> tuple[int, int]:
    """One port's messages after another's, behind what asks it for them."""
    chain, first, fans, ports, asks = model.chain, route[PARTS], route[FANS], route[PORTS], route[REQUEST_FLITS] > 0
    turns = 0
    for part in range(first, route[PARTS_END]):
        place = _turn((address + model.parts[part, OFFSET]) // route[MESSAGE_BYTES], ports)
        if chain[place, FIRST] == NONE:
            chain[place, FIRST], chain[turns, TURN] = part, place
            turns += 1
        else:
            chain[chain[place, LAST] - first, NEXT] = part
        chain[place, LAST], chain[part - first, NEXT] = part, NONE
    size, least = 0, 0
    for turn in range(turns):
        place = chain[turn, TURN]
        asking, longest = 0, 0
        if asks:
            model.made[size, 1] = route[REQUEST_FLITS]
            asking = _lead(model, size, model.route_fans[fans + ports + place], ASKS)
            size += 1
        part = chain[place, FIRST]
        while part != NONE:
            role = LED if asks else PLAIN
            longest = max(longest, _add(model, size, model.route_fans[fans + place], part, role))
            size += 1
            part = chain[part - first, NEXT]
        chain[place, FIRST] = NONE
        least = max(least, asking + longest)
    return size, least - 1


@inlined
def _turn(block: int, ports: int) -> int:
    """As ``fabric.turn``."""
    number = 0
    while block and ports > 1:
        number += block % ports
        block //= ports
    return number % ports


@inlined
def _add(model: Any, place: int, fan: int, part: int, role: int) -> int:
    """Write the message of a part; its least cycles."""
    model.made[place, 1] = model.parts[part, FLITS]
    return _lead(model, place, fan, role)


@inlined
def _lead(model: Any, place: int, fan: int, role: int) -> int:
    """Where a message's flits go; its least cycles, or less where links are slow."""
    made, rules = model.made[place], model.state.rules[0]
    made[0], made[2] = fan, role
    total = made[1] + rules.header_flits * max(1, -(-made[1] // rules.packet_flits))
    return int(max(model.facts[fan, LEAST], model.fans[fan].copies * total + model.facts[fan, FEWEST]))


@addressed
@njit
def advance_links(kind: Any, table: int, until_ps: int, _: int, __: int) -> int:
    """Run reservations to the first completions, up to ``until_ps``; how many, or why not (``served``). They never
    stand still."""
    model = value_at(kind, table)
    header, until = model.header, _until(model.header, until_ps)
    count = 0
    while not count and header[NEXT_END] < until:
        count, bound = reserve.advance(model.state, until, True, header[BROKEN_OFF] == 0)
        header[BROKEN_OFF] = bound == FULL
        if header[BROKEN_OFF]:
            return served.NO_ROOM
        header[NEXT_END] = bound
    return _completed(model, count, until_ps)


@addressed
@njit
def advance_flits(kind: Any, table: int, until_ps: int, _: int, __: int) -> int:
    """Run routers flit by flit, as ``advance_links``."""
    model = value_at(kind, table)
    header, until = model.header, _until(model.header, until_ps)
    count = 0
    while not count and header[NEXT_END] < until:
        limit = _limit(model, until)
        count, header[NEXT_END] = run.run(model.state, model.sources, False, True, limit)
        if _is_stuck(model, limit, until):
            return served.STUCK
    return _completed(model, count, until_ps)


@inlined
def _until(header: Any, until_ps: int) -> int:
    return int(min(_cycle(header, until_ps + 1), NEVER - 1))


@inlined
def _limit(model: Any, until: int) -> int:
    """Up to the first end, or so far that something must have moved."""
    header, counts = model.header, model.state.counts
    header[AT_FIRST], header[ARRIVED_FIRST] = counts[UNDER_WAY], counts[ARRIVED]
    return int(min(until, header[NEXT_END] + STUCK_CYCLES))


@inlined
def _is_stuck(model: Any, limit: int, until: int) -> bool:
    """Whether messages stand still."""
    header, counts = model.header, model.state.counts
    same = header[AT_FIRST] == counts[UNDER_WAY] and header[ARRIVED_FIRST] == counts[ARRIVED]
    stuck: bool = limit < until and counts[NOW] >= limit and header[AT_FIRST] > 0 and same
    return stuck


@njit
def _completed(model: Any, count: int, until_ps: int) -> int:
    """Tell of the shipments that have ended, in one cycle."""
    header, state = model.header, model.state
    header[NOW_PS] = until_ps
    if count:
        header[NOW_PS] = _edge(header, state.messages[state.done[1]].ended)
    for place in range(count):
        slot = state.done[place + 1]
        model.completions[place, served.COMPLETED] = model.tickets[slot]
        model.completions[place, served.TIME_PS] = header[NOW_PS]
        header[UNUSED] += model.used[slot]
    _look_ahead(header)
    return count


@inlined
def _look_ahead(header: Any) -> None:
    header[served.NEXT_PS] = NEVER if header[NEXT_END] == NEVER else _edge(header, header[NEXT_END])


@inlined
def _edge(header: Any, cycle: int) -> int:
    """Time in ps of edge ``cycle``."""
    ps, edges = header[PS], header[EDGES]
    found, _ = _scaled(cycle % edges, ps, edges)
    return int(cycle // edges * ps + found)


@inlined
def _cycle(header: Any, time_ps: int) -> int:
    """The first edge at or after ``time_ps``."""
    ps, edges = header[PS], header[EDGES]
    found, rest = _scaled(time_ps % ps, edges, ps)
    return int(time_ps // ps * edges + found + (rest > 0))


@inlined
def _scaled(number: int, by: int, over: int) -> tuple[int, int]:
    """``number * by`` divided by ``over``, and what is left: of numbers of 40 bits, whose product has 80."""
    high, low = by >> HALF_BITS, by & ((1 << HALF_BITS) - 1)
    found, rest = number * high // over, number * high % over
    more = (rest << HALF_BITS) + number * low
    return (found << HALF_BITS) + more // over, more % over
