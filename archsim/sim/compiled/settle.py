"""Max-min fair paces of flows on ports that are overfull (``archsim.memory.water_level`` says what is fair).

All flows that overfull ports tie to one another are a component. A *limit* is an overfull port, or an overfull bank of
a port whose flows load its banks unevenly; an *entry* is a flow on a limit. Flows, limits and entries of a component
are numbered from 0 on; what is known of them stands in SCRATCH, a row for each number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.jit import inlined, njit
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.clocks import edge, position
from archsim.sim.compiled.events import put_end
from archsim.sim.compiled.exact import (
    UNSURE,
    Exact,
    inverse_mod,
    minus,
    plus,
    ratio,
    sign,
    times,
    times_mod,
    whole,
)
from archsim.sim.compiled.ports import FULL, ROUNDING, absolute, is_uneven, load, store

# of flows by the chip's number, and of ports
SEEN, PLACE, PORT_SEEN = range(3)
# of flows of the component
FLOW, WAITS, GROWS, FLOW_ENTRIES = range(3, 7)
# of limits
ENTRIES, ENTRIES_END, LEFT_ABOVE, NEXT, TOP = range(7, 12)
# of entries
ENTRY_FLOW, BY_WISH, BY_SHARE, FITS, ENTRY_LIMIT, NEXT_ENTRY = range(12, 18)
# exact numbers
NEW_PACE, LEFT, FITTING, LEVEL, ENTRY_SHARE, ENTRY_INVERSE, WISH = range(7)


@inlined
def _cell(m: Any, number: int, column: int) -> int:
    """Where a column of what is known of a number stands."""
    return int(m[k.SCRATCH_AT] + number * k.SCRATCH_WIDTH + column)


@inlined
def _no(m: Any, number: int, which: int) -> int:
    """The number of an exact number of scratch."""
    return int(m[k.SCRATCH_NUMBERS] + number * k.SCRATCH_EXACT + which)


@inlined
def _port(m: Any, number: int) -> int:
    return int(m[k.PORTS_AT] + number * k.PORT_WIDTH)


@inlined
def _doubt(m: Any, answer: int) -> None:
    """Give up where two numbers cannot be told apart."""
    if answer == UNSURE:
        m[k.FAILED] = k.UNCERTAIN


@njit
def settle(m: Any, x: Any, r: Any) -> None:
    """Give everybody on marked ports, and whom these are tied to, their paces."""
    m[k.STAMP] += 1
    stamp, count, dirty = m[k.STAMP], m[k.DIRTY_COUNT], m[k.DIRTY_AT]
    m[k.DIRTY_COUNT] = 0
    for place in range(count):
        m[_port(m, m[dirty + place]) + k.PORT_DIRTY] = 0
    for place in range(count):
        member = m[_port(m, m[dirty + place]) + k.PORT_FIRST]
        while member != k.NONE:
            if m[_cell(m, m[member], SEEN)] != stamp:
                _settle_component(m, x, r, m[member], stamp)
            member = m[member + 3]


@njit
def _settle_component(m: Any, x: Any, r: Any, f: int, stamp: int) -> None:
    """Find all that flow ``f`` is tied to, and give it its pace."""
    m[_cell(m, f, SEEN)], m[_cell(m, 0, FLOW)] = stamp, f
    flows, limits, entries, place = 1, 0, 0, 0
    while place < flows:
        flow = m[k.FLOWS_AT] + m[_cell(m, place, FLOW)] * k.FLOW_WIDTH
        place += 1
        stream = m[k.STREAMS_AT] + m[flow + k.FLOW_STREAM] * k.STREAM_WIDTH
        for share in range(m[stream + k.SHARES], m[stream + k.SHARES_END]):
            number = absolute(m, m[m[k.SHARES_AT] + share * k.SHARE_WIDTH + k.PORT], m[flow + k.FLOW_CORE])
            if m[_cell(m, number, PORT_SEEN)] != stamp:
                m[_cell(m, number, PORT_SEEN)] = stamp
                before = limits
                limits, entries = _limits(m, x, r, number, limits, entries)
                if limits > before:
                    flows = _members(m, number, flows, stamp)
    _fair(m, x, r, flows, limits)
    for place in range(flows):
        _change(m, x, r, m[_cell(m, place, FLOW)], load(x, r, _no(m, place, NEW_PACE)))


@njit
def _members(m: Any, number: int, flows: int, stamp: int) -> int:
    """Add the flows of a port to the component of so many; how many they are then."""
    member = m[_port(m, number) + k.PORT_FIRST]
    while member != k.NONE:
        if m[_cell(m, m[member], SEEN)] != stamp:
            m[_cell(m, m[member], SEEN)], m[_cell(m, flows, FLOW)] = stamp, m[member]
            flows += 1
        member = m[member + 3]
    return flows


@njit
def _limits(m: Any, x: Any, r: Any, number: int, limits: int, entries: int) -> tuple[int, int]:
    """Add the limits of a port: itself where it is overfull, and its overfull banks; how many limits and entries there
    are then. Entries name flows as the chip does here."""
    port, loads = _port(m, number), 2 * (m[k.PORT_NUMBERS] + number)
    if x[loads] + x[loads + 1] < FULL:
        return limits, entries
    if max(entries, limits) + 2 * m[port + k.PORT_FLOWS] + 2 >= m[k.SCRATCH_ROOM]:
        m[k.FAILED] = k.LOST
        return limits, entries
    if x[loads] >= FULL:
        last = _enter(m, x, r, number, k.NONE, entries)
        if _is_overfull(m, x, r, entries, last):
            limits, entries = _add_limit(m, limits, entries, last), last
    first = limits
    for bank in range(_banks(m, number)):
        last = _enter(m, x, r, number, bank, entries)
        if _is_overfull(m, x, r, entries, last) and not _is_known(m, x, r, first, limits, entries, last):
            limits, entries = _add_limit(m, limits, entries, last), last
            if entries + 2 * m[port + k.PORT_FLOWS] + 2 >= m[k.SCRATCH_ROOM]:
                m[k.FAILED] = k.LOST
                return limits, entries
    return limits, entries


@inlined
def _add_limit(m: Any, limits: int, entries: int, last: int) -> int:
    m[_cell(m, limits, ENTRIES)], m[_cell(m, limits, ENTRIES_END)] = entries, last
    return limits + 1


@njit
def _enter(m: Any, x: Any, r: Any, number: int, bank: int, entry: int) -> int:
    """Write an entry for each flow that loads a port, or one bank of it, from ``entry`` on; the one after the last."""
    member = m[_port(m, number) + k.PORT_FIRST]
    while member != k.NONE:
        share = m[member + 1]
        numbers = m[k.SHARE_NUMBERS] + 4 * share
        if bank == k.NONE or not is_uneven(m, share):
            taken, inverse = load(x, r, numbers + k.SHARE), load(x, r, numbers + k.INVERSE)
        else:
            taken, inverse = _on_bank(m, x, r, m[member], share, bank), whole(0)
        if taken[0] > 0.0:
            m[_cell(m, entry, ENTRY_FLOW)] = m[member]
            store(x, r, _no(m, entry, ENTRY_SHARE), taken)
            store(x, r, _no(m, entry, ENTRY_INVERSE), inverse)
            entry += 1
        member = m[member + 3]
    return entry


@njit
def _on_bank(m: Any, x: Any, r: Any, f: int, share: int, bank: int) -> Exact:
    """What a flow takes of a bank of the port of a share with conflicts."""
    row = m[k.SHARES_AT] + share * k.SHARE_WIDTH
    taken = load(x, r, m[k.SHARE_NUMBERS] + 4 * share + k.EVEN)
    first = m[row + k.CONFLICTS]
    turned = m[k.TURNS_AT] + f * m[k.MOST_TURNS] + _turns_before(m, f, share)
    for number in range(first, m[row + k.CONFLICTS_END]):
        conflict = m[k.CONFLICTS_AT] + number * k.CONFLICT_WIDTH
        at = (bank - m[turned + number - first]) % m[conflict + k.BANKS]
        words = m[m[k.LOADS_AT] + m[conflict + k.LOADS] + at]
        if words:
            taken = plus(taken, times(whole(words), load(x, r, m[k.CONFLICT_NUMBERS] + number)))
    return taken


@njit
def _turns_before(m: Any, f: int, share: int) -> int:
    """Turns of a flow that belong to shares before ``share``."""
    found = 0
    stream = m[k.STREAMS_AT] + m[m[k.FLOWS_AT] + f * k.FLOW_WIDTH + k.FLOW_STREAM] * k.STREAM_WIDTH
    for before in range(m[stream + k.SHARES], share):
        row = m[k.SHARES_AT] + before * k.SHARE_WIDTH
        found += m[row + k.CONFLICTS_END] - m[row + k.CONFLICTS]
    return int(found)


@njit
def _banks(m: Any, number: int) -> int:
    """How many banks a port has to which flows on it are uneven; 0 where none is."""
    port = _port(m, number)
    member = m[port + k.PORT_FIRST] if m[port + k.PORT_UNEVEN] else k.NONE
    while member != k.NONE:
        if is_uneven(m, m[member + 1]):
            conflict = m[m[k.SHARES_AT] + m[member + 1] * k.SHARE_WIDTH + k.CONFLICTS]
            return int(m[m[k.CONFLICTS_AT] + conflict * k.CONFLICT_WIDTH + k.BANKS])
        member = m[member + 3]
    return 0


@njit
def _is_overfull(m: Any, x: Any, r: Any, first: int, last: int) -> bool:
    """Whether the shares of some entries exceed 1."""
    total = 0.0
    for entry in range(first, last):
        total += x[2 * _no(m, entry, ENTRY_SHARE)]
    if total < FULL or total > 1.0 + ROUNDING:
        return total > 1.0
    found = whole(0)
    for entry in range(first, last):
        found = plus(found, load(x, r, _no(m, entry, ENTRY_SHARE)))
    above = sign(minus(found, whole(1)), 1.0)
    _doubt(m, above)
    return above == 1


@njit
def _is_known(m: Any, x: Any, r: Any, first: int, limits: int, entry: int, last: int) -> bool:
    """Whether a limit from ``first`` on has the same entries: banks that are loaded alike."""
    for limit in range(first, limits):
        at = m[_cell(m, limit, ENTRIES)]
        same = m[_cell(m, limit, ENTRIES_END)] - at == last - entry
        for place in range(last - entry if same else 0):
            one, two = _no(m, at + place, ENTRY_SHARE), _no(m, entry + place, ENTRY_SHARE)
            same = same and m[_cell(m, at + place, ENTRY_FLOW)] == m[_cell(m, entry + place, ENTRY_FLOW)]
            same = same and r[one] == r[two] and x[2 * one] == x[2 * two]
        if same:
            return True
    return False


@njit
def _fair(m: Any, x: Any, r: Any, flows: int, limits: int) -> None:
    """Find the paces of the flows of a component."""
    for place in range(flows):
        m[_cell(m, m[_cell(m, place, FLOW)], PLACE)] = place
        store(x, r, _no(m, place, NEW_PACE), whole(0 if limits else 1))
        m[_cell(m, place, GROWS)], m[_cell(m, place, FLOW_ENTRIES)] = 1, k.NONE
    for limit in range(limits):
        store(x, r, _no(m, limit, LEFT), whole(1))
        for entry in range(m[_cell(m, limit, ENTRIES)], m[_cell(m, limit, ENTRIES_END)]):
            place = m[_cell(m, m[_cell(m, entry, ENTRY_FLOW)], PLACE)]
            m[_cell(m, entry, ENTRY_FLOW)], m[_cell(m, entry, ENTRY_LIMIT)] = place, limit
            m[_cell(m, entry, NEXT_ENTRY)] = m[_cell(m, place, FLOW_ENTRIES)]
            m[_cell(m, place, FLOW_ENTRIES)] = entry
            if x[2 * _no(m, entry, ENTRY_INVERSE)] == 0.0:
                share = load(x, r, _no(m, entry, ENTRY_SHARE))
                high, low = ratio(whole(1), share)
                store(x, r, _no(m, entry, ENTRY_INVERSE), (high, low, inverse_mod(share[2])))
    growing, first = flows if limits else 0, True
    while growing:
        _fill(m, x, r, flows, limits, first)
        growing, first = _slowed(m, x, r, flows, limits), False


@njit
def _fill(m: Any, x: Any, r: Any, flows: int, limits: int, first: bool) -> None:
    """Raise the paces of those that grow by a fair division of what is left of the limits, the slowest first.

    ``first``: nobody has grown yet.
    """
    waiting = 0
    for place in range(flows):
        m[_cell(m, place, WAITS)] = m[_cell(m, place, GROWS)]
        waiting += m[_cell(m, place, GROWS)]
    for limit in range(limits):
        _prepare(m, x, r, limit)
    while waiting:
        alone = k.NONE if first else _nearest(m, x, flows)
        limit = _tightest(m, x, r, limits)
        if limit != k.NONE and alone != k.NONE and not _allows_less(m, x, r, limit, alone):
            limit = k.NONE
        if limit != k.NONE:
            top = _top(m, limit)
            gain = _bid(m, x, r, limit, top)
            _serve(m, x, r, m[_cell(m, top, ENTRY_FLOW)], gain)
            waiting -= 1
        elif alone != k.NONE:
            _serve(m, x, r, alone, minus(whole(1), load(x, r, _no(m, alone, NEW_PACE))))
            waiting -= 1
        else:
            for place in range(flows):
                if m[_cell(m, place, WAITS)]:
                    _serve(m, x, r, place, whole(1))
            waiting = 0


@njit
def _nearest(m: Any, x: Any, flows: int) -> int:
    """The one of those that wait that lacks least to full pace."""
    found = k.NONE
    for place in range(flows):
        if m[_cell(m, place, WAITS)] and (
            found == k.NONE or x[2 * _no(m, place, NEW_PACE)] > x[2 * _no(m, found, NEW_PACE)]
        ):
            found = place
    return found


@njit
def _tightest(m: Any, x: Any, r: Any, limits: int) -> int:
    """The limit that allows the one who takes most of it least, of those that allow the same the one whose flow began
    first; NONE where the wishes of all fit."""
    found, least, taker = k.NONE, whole(0), k.NONE
    for limit in range(limits):
        if m[_cell(m, limit, LEFT_ABOVE)]:
            top = _top(m, limit)
            near = x[2 * _no(m, limit, LEVEL)] * x[2 * _no(m, top, ENTRY_INVERSE)]
            if found == k.NONE or near <= least[0] * (1.0 + ROUNDING):
                bid = _bid(m, x, r, limit, top)
                if found == k.NONE or _is_before(m, bid, top, least, taker):
                    found, least, taker = limit, bid, top
    return found


@njit
def _bid(m: Any, x: Any, r: Any, limit: int, top: int) -> Exact:
    """What a limit allows the one of entry ``top``, who takes most of it."""
    return times(load(x, r, _no(m, limit, LEVEL)), load(x, r, _no(m, top, ENTRY_INVERSE)))


@njit
def _allows_less(m: Any, x: Any, r: Any, limit: int, place: int) -> bool:
    """Whether a limit bids less than the flow at ``place`` lacks to full pace."""
    lack = minus(whole(1), load(x, r, _no(m, place, NEW_PACE)))
    less = sign(minus(_bid(m, x, r, limit, _top(m, limit)), lack), 1.0)
    _doubt(m, less)
    return less == -1


@njit
def _is_before(m: Any, value: Exact, entry: int, other: Exact, behind: int) -> bool:
    """Whether the value of an entry is less than that of another, or as much and its flow began before."""
    order = sign(minus(value, other), value[0])
    _doubt(m, order)
    return order == -1 or (order == 0 and _order(m, entry) < _order(m, behind))


@inlined
def _order(m: Any, entry: int) -> int:
    """When the flow of an entry began, among all."""
    return int(m[m[k.FLOWS_AT] + m[_cell(m, m[_cell(m, entry, ENTRY_FLOW)], FLOW)] * k.FLOW_WIDTH + k.FLOW_ORDER])


@njit
def _top(m: Any, limit: int) -> int:
    """The waiting entry of a limit that takes most of it."""
    place = m[_cell(m, limit, TOP)]
    while not m[_cell(m, m[_cell(m, m[_cell(m, place, BY_SHARE)], ENTRY_FLOW)], WAITS)]:
        place += 1
    m[_cell(m, limit, TOP)] = place
    return int(m[_cell(m, place, BY_SHARE)])


@njit
def _prepare(m: Any, x: Any, r: Any, limit: int) -> None:
    """Order the entries of a limit that grow by wish, and by share; find its level."""
    first, count = m[_cell(m, limit, ENTRIES)], 0
    for entry in range(first, m[_cell(m, limit, ENTRIES_END)]):
        place = m[_cell(m, entry, ENTRY_FLOW)]
        if m[_cell(m, place, GROWS)]:
            lack = minus(whole(1), load(x, r, _no(m, place, NEW_PACE)))
            store(x, r, _no(m, entry, WISH), times(load(x, r, _no(m, entry, ENTRY_SHARE)), lack))
            m[_cell(m, entry, FITS)] = 0
            _insert_wish(m, x, r, first, count, entry)
            _insert_share(m, x, r, first, count, entry)
            count += 1
    m[_cell(m, limit, NEXT)], m[_cell(m, limit, TOP)], m[_cell(m, limit, LEFT_ABOVE)] = first, first, count
    store(x, r, _no(m, limit, FITTING), whole(0))
    _rise(m, x, r, limit)


@njit
def _insert_wish(m: Any, x: Any, r: Any, first: int, count: int, entry: int) -> None:
    """Put an entry in its place among the ``count`` that are in order of their wishes."""
    place, wish = first + count, load(x, r, _no(m, entry, WISH))
    while place > first:
        other = m[_cell(m, place - 1, BY_WISH)]
        if not _is_before(m, wish, entry, load(x, r, _no(m, other, WISH)), other):
            break
        m[_cell(m, place, BY_WISH)] = other
        place -= 1
    m[_cell(m, place, BY_WISH)] = entry


@njit
def _insert_share(m: Any, x: Any, r: Any, first: int, count: int, entry: int) -> None:
    """The same by share, the largest first, of equal ones the one that began first."""
    place, share = first + count, load(x, r, _no(m, entry, ENTRY_SHARE))
    while place > first:
        other = m[_cell(m, place - 1, BY_SHARE)]
        more = sign(minus(share, load(x, r, _no(m, other, ENTRY_SHARE))), share[0])
        _doubt(m, more)
        if more == -1 or (more == 0 and _order(m, entry) > _order(m, other)):
            break
        m[_cell(m, place, BY_SHARE)] = other
        place -= 1
    m[_cell(m, place, BY_SHARE)] = entry


@njit
def _rise(m: Any, x: Any, r: Any, limit: int) -> None:
    """Find the level of a limit, which has not fallen; LEFT_ABOVE are those whose wishes do not fit."""
    while m[_cell(m, limit, LEFT_ABOVE)]:
        entry = m[_cell(m, m[_cell(m, limit, NEXT)], BY_WISH)]
        if m[_cell(m, m[_cell(m, entry, ENTRY_FLOW)], WAITS)]:
            room = minus(load(x, r, _no(m, limit, LEFT)), load(x, r, _no(m, limit, FITTING)))
            wish, above = load(x, r, _no(m, entry, WISH)), m[_cell(m, limit, LEFT_ABOVE)]
            more = sign(minus(times(wish, whole(above)), room), 1.0)
            _doubt(m, more)
            if more == 1:
                high, low = ratio(room, whole(above))
                residue = times_mod(room[2], inverse_mod(np.uint64(above)))
                store(x, r, _no(m, limit, LEVEL), (high, low, residue))
                return
            store(x, r, _no(m, limit, FITTING), plus(load(x, r, _no(m, limit, FITTING)), wish))
            m[_cell(m, entry, FITS)] = 1
            m[_cell(m, limit, LEFT_ABOVE)] -= 1
        m[_cell(m, limit, NEXT)] += 1


@njit
def _serve(m: Any, x: Any, r: Any, place: int, gain: Exact) -> None:
    """The pace of a flow has risen by ``gain``; it waits no more."""
    store(x, r, _no(m, place, NEW_PACE), plus(load(x, r, _no(m, place, NEW_PACE)), gain))
    m[_cell(m, place, WAITS)] = 0
    entry = m[_cell(m, place, FLOW_ENTRIES)]
    while entry != k.NONE:
        limit = m[_cell(m, entry, ENTRY_LIMIT)]
        used = times(load(x, r, _no(m, entry, ENTRY_SHARE)), gain)
        store(x, r, _no(m, limit, LEFT), minus(load(x, r, _no(m, limit, LEFT)), used))
        if m[_cell(m, entry, FITS)]:
            fitting = minus(load(x, r, _no(m, limit, FITTING)), load(x, r, _no(m, entry, WISH)))
            store(x, r, _no(m, limit, FITTING), fitting)
        else:
            m[_cell(m, limit, LEFT_ABOVE)] -= 1
        _rise(m, x, r, limit)
        entry = m[_cell(m, entry, NEXT_ENTRY)]


@njit
def _slowed(m: Any, x: Any, r: Any, flows: int, limits: int) -> int:
    """Let those grow again that are slowed and on no limit that is full; how many they are."""
    for place in range(flows):
        if m[_cell(m, place, GROWS)]:
            lack = sign(minus(whole(1), load(x, r, _no(m, place, NEW_PACE))), 1.0)
            _doubt(m, lack)
            m[_cell(m, place, GROWS)] = 1 if lack == 1 else 0
    for limit in range(limits):
        left = sign(load(x, r, _no(m, limit, LEFT)), 1.0)
        _doubt(m, left)
        if left == 0:
            for entry in range(m[_cell(m, limit, ENTRIES)], m[_cell(m, limit, ENTRIES_END)]):
                m[_cell(m, m[_cell(m, entry, ENTRY_FLOW)], GROWS)] = 0
    growing = 0
    for place in range(flows):
        growing += m[_cell(m, place, GROWS)]
    return growing


@njit
def _change(m: Any, x: Any, r: Any, f: int, pace: Exact) -> None:
    """A flow goes on at ``pace`` from now."""
    flow, numbers, now = m[k.FLOWS_AT] + f * k.FLOW_WIDTH, m[k.FLOW_NUMBERS] + 3 * f, m[k.NOW]
    before = load(x, r, numbers + k.PACE)
    other = sign(minus(pace, before), 1.0)
    _doubt(m, other)
    if other == 0 or m[flow + k.FLOW_END_PS] <= now:
        return
    at = position(m, r, m[flow + k.FLOW_CLOCK], now)
    gone = minus(at, load(x, r, numbers + k.SINCE))
    done = plus(load(x, r, numbers + k.DONE), times(before, gone))
    store(x, r, numbers + k.DONE, done)
    store(x, r, numbers + k.SINCE, at)
    store(x, r, numbers + k.PACE, pace)
    cycles = load(x, r, m[k.STREAM_NUMBERS] + m[flow + k.FLOW_STREAM])
    rest = minus(cycles, done)
    some = sign(rest, cycles[0])
    _doubt(m, some)
    if some != 1:
        return
    end_ps = edge(m, m[flow + k.FLOW_CLOCK], _last_cycle(m, at, rest, pace))
    if end_ps != m[flow + k.FLOW_END_PS]:
        m[flow + k.FLOW_END_PS] = end_ps
        m[flow + k.FLOW_VERSION] += 1
        put_end(m, f)


@njit
def _last_cycle(m: Any, at: Exact, rest: Exact, pace: Exact) -> int:
    """The first whole cycle at or after ``at`` + ``rest`` / ``pace``."""
    high, low = ratio(rest, pace)
    near = plus(at, (high, low, np.uint64(0)))
    cycle = int(np.floor(near[0] + 0.5))
    apart = (near[0] - float(cycle)) + near[1]
    if abs(apart) > 1e-9:
        return cycle + 1 if apart > 0.0 else cycle
    late = sign(minus(rest, times(pace, minus(whole(cycle), at))), rest[0])
    _doubt(m, late)
    return cycle + 1 if late == 1 else cycle
