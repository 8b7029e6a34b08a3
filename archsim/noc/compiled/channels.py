"""Allocation of virtual channels: packets at the front of input channels take free ones ahead.

Each waiting packet asks, at one output port, for every free channel of its class. iSLIP with one round: each free
channel grants the next input channel that asks, each input channel accepts the next of those that grant it, and both
pointers move past the pair. A packet with whom nobody contends for any of its channels is granted them all, so only
the others need the round.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.compiled.aiming import aim_branch, branch_to
from archsim.noc.compiled.arrivals import update
from archsim.noc.compiled.bits import lowest, next_of
from archsim.noc.compiled.matching import CHANNELS, match, pass_turn, wish
from archsim.noc.compiled.records import ACTIVE, INDEX, ISLIP, MAX_SIZE, NO_INDEX, NONE


@inlined
def ask_channels(state: Any, now: int) -> int:
    """Fill state.requests with the packets that may ask and find a free channel; their number is returned.

    The others go on waiting.
    """
    waiting = state.waiting
    _add_due(state, now)
    count = kept = 0
    for place in range(1, waiting[0] + 1):
        channel = waiting[place]
        own = state.inputs[channel]
        before = count
        count = _ask_each(state, channel, count) if own.spread else _ask(state, channel, own, count)
        if count == before:
            kept += 1
            waiting[INDEX(kept)] = channel
    waiting[0] = kept
    return count


@inlined
def _ask(state: Any, channel: int, own: Any, count: int) -> int:
    port = state.ports[own.output]
    row = port.free & own.allowed
    if row:
        request = state.requests[INDEX(count)]
        request.channel, request.output, request.row = channel, own.output, row
        request.before = port.rivals if port.once else NO_INDEX
        port.twice |= port.once & row
        port.once |= row
        port.rivals = count
        count += 1
    return count


@njit
def _ask_each(state: Any, channel: int, count: int) -> int:
    """A packet to several outputs asks at all of them."""
    own = state.inputs[channel]
    want = own.want
    while want:
        aim_branch(state, channel, lowest(want))
        want &= want - 1
        count = _ask(state, channel, own, count)
    return count


@inlined
def _add_due(state: Any, now: int) -> None:
    waiting, due = state.waiting, state.due[INDEX(now & (state.rules[0].slots - 1))]
    for place in range(1, due[0] + 1):
        waiting[INDEX(waiting[0] + place)] = due[place]
    waiting[0] += due[0]
    due[0] = 0


@inlined
def take_channels(state: Any, count: int, now: int) -> None:
    """Let the winners of the requests hold what they won; they may send from the next cycle on."""
    if state.rules[0].vc_allocator != ISLIP:
        _match_all(state, count, now)
        return
    for number in range(count):
        port = state.ports[state.requests[number].output]
        if port.twice and port.rivals == number:
            _settle(state, number, port.twice)
    for number in range(count):
        request = state.requests[number]
        port = state.ports[request.output]
        port.once = port.twice = 0
        if request.row:
            _accept(state, request)
        _conclude(state, number, count)


@inlined
def _accept(state: Any, request: Any) -> None:
    """The packet takes the next of the channels that are left of its request."""
    rules = state.rules[0]
    size = rules.ports * rules.vcs
    port = state.ports[request.output]
    base = port.first_output * rules.vcs
    own = state.inputs[request.channel]
    first = request.output * rules.vcs - base
    won = next_of(request.row, own.accept - first, rules.vcs)
    own.accept = first + won + 1 if first + won + 1 < size else 0
    asking = request.channel - base
    state.outputs[INDEX(base + first + won)].grant = asking + 1 if asking + 1 < size else 0
    _take(state, request, won)


@inlined
def _take(state: Any, request: Any, won: int) -> None:
    rules = state.rules[0]
    channel = request.channel
    own, port = state.inputs[channel], state.ports[request.output]
    ahead = INDEX(request.output * rules.vcs + won)
    output = INDEX(request.output - port.first_output)
    port.free &= ~(1 << won)
    state.outputs[ahead].owner = channel
    branch = branch_to(state, channel, output)
    branch.ahead, branch.sent = ahead, 0
    own.want &= ~(1 << output)
    own.held |= 1 << output
    own.state = ACTIVE
    update(state, channel, output)


@inlined
def _conclude(state: Any, number: int, count: int) -> None:
    """After the last request of a packet: ask again in the next cycle where it has not won."""
    channel = state.requests[INDEX(number)].channel
    own = state.inputs[channel]
    more = own.spread and number + 1 < count and state.requests[INDEX(number + 1)].channel == channel
    if own.want and not more:
        place = INDEX(state.waiting[0] + 1)
        state.waiting[0] = place
        state.waiting[place] = channel


@inlined
def _settle(state: Any, last: int, twice: int) -> None:
    """One round among the packets that contend at an output port, ``last`` and those before it: what each is granted is
    left of its request."""
    union = 0
    number = INDEX(last)
    while number != NO_INDEX:
        request = state.requests[number]
        request.granted = 0 if request.row & twice else request.row
        if request.row & twice:
            union |= request.row
        number = request.before
    while union:
        _grant(state, last, twice, lowest(union))
        union &= union - 1
    number = INDEX(last)
    while number != NO_INDEX:
        request = state.requests[number]
        request.row = request.granted
        number = request.before


@inlined
def _grant(state: Any, last: int, twice: int, vc: int) -> None:
    """The channel grants the next in turn of those that ask for it."""
    rules = state.rules[0]
    size = rules.ports * rules.vcs
    output = state.requests[INDEX(last)].output
    pointer = state.outputs[INDEX(output * rules.vcs + vc)].grant
    base = state.ports[output].first_output * rules.vcs
    best, nearest = NO_INDEX, size
    number = INDEX(last)
    while number != NO_INDEX:
        request = state.requests[number]
        if request.row & twice and request.row >> vc & 1:
            distance = request.channel - base - pointer
            distance += size if distance < 0 else 0
            if distance < nearest:
                best, nearest = number, distance
        number = request.before
    state.requests[INDEX(best)].granted |= 1 << vc


@njit
def _match_all(state: Any, count: int, now: int) -> None:
    """Other allocators, router by router."""
    for first in range(count):
        port = state.ports[state.requests[first].output]
        port.once = port.twice = 0
        if state.matching.met[CHANNELS, port.router] != now:
            state.matching.met[CHANNELS, port.router] = now
            _match(state, first, count, port.router)
    if state.rules[0].vc_allocator == MAX_SIZE:
        _pass_turns(state, now)
    for number in range(count):
        request = state.requests[number]
        if request.granted:
            _take(state, request, lowest(request.granted))
        _conclude(state, number, count)


@njit
def _pass_turns(state: Any, now: int) -> None:
    """Of routers where packets wait but none may ask."""
    rules = state.rules[0]
    for place in range(1, state.waiting[0] + 1):
        router = state.ports[state.inputs[state.waiting[place]].port].router
        if state.matching.met[CHANNELS, router] != now:
            state.matching.met[CHANNELS, router] = now
            pass_turn(state.matching, CHANNELS, router, rules.ports * rules.vcs)


@njit
def _match(state: Any, first: int, count: int, router: int) -> None:
    rules = state.rules[0]
    size = rules.ports * rules.vcs
    for number in range(first, count):
        request = state.requests[number]
        row = request.row if state.ports[request.output].router == router else 0
        while row:
            target = request.output * rules.vcs - router * size + lowest(row)
            wish(state.matching, request.channel - router * size, target)
            row &= row - 1
    match(state.matching, rules.vc_allocator, CHANNELS, router, size, size)
    for number in range(first, count):
        request = state.requests[number]
        if state.ports[request.output].router == router:
            won = state.matching.of_input[request.channel - router * size]
            mine = won != NONE and won // rules.vcs == request.output - router * rules.ports
            request.granted = 1 << won % rules.vcs if mine else 0
