"""Allocation of virtual channels: packets at the front of input channels take free ones ahead.

Each waiting packet asks, at one output port, for every free channel of its class. iSLIP with one round: each free
channel grants the next input channel that asks, each input channel accepts the next of those that grant it, and both
pointers move past the pair. A packet with whom nobody contends for any of its channels is granted them all, so only
the others need the round.
"""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined, njit
from archsim.noc.kernel.arrive import aim, update
from archsim.noc.kernel.bits import lowest, next_of
from archsim.noc.kernel.layout import ACTIVE, ISLIP, MAX_SIZE, NONE
from archsim.noc.kernel.matching import CHANNELS, match, pass_turn, wish


@inlined
def choose_channels(state: Any, now: int) -> int:
    """Fill state.requests with the packets that ask in this cycle and what each has won; their number is returned."""
    count = _gather(state, now)
    if state.rules[0].vc_allocator != ISLIP:
        _match_all(state, count, now)
        return count
    for number in range(count):
        request = state.requests[number]
        port = state.ports[request.output]
        if not request.row & port.twice:
            _accept(state, request, request.row)
    for number in range(count):
        request = state.requests[number]
        port = state.ports[request.output]
        if port.twice and port.rivals == number:
            _settle(state, number, port.twice)
    return count


@inlined
def take_channels(state: Any, count: int) -> None:
    """Let the winners of ``choose_channels`` hold what they won; they may send from the next cycle on."""
    waiting = state.waiting
    for number in range(count):
        request = state.requests[number]
        channel = request.channel
        own = state.inputs[channel]
        if request.won != NONE:
            _take(state, request, own)
        if own.want:
            waiting[0] += 1
            waiting[waiting[0]] = channel


@inlined
def _take(state: Any, request: Any, own: Any) -> None:
    ahead = request.output * state.rules[0].vcs + request.won
    held = state.outputs[ahead]
    state.ports[request.output].free &= ~held.bit
    held.owner = request.channel
    output = held.output
    branch = state.branches[own.branch + output]
    branch.ahead, branch.sent = ahead, 0
    own.want &= ~(1 << output)
    own.held |= 1 << output
    own.state = ACTIVE
    if own.want:
        aim(state, request.channel, lowest(own.want))
    update(state, request.channel, output)


@inlined
def _gather(state: Any, now: int) -> int:
    """The packets that may ask and find a free channel; the others go on waiting."""
    count = kept = 0
    waiting = state.waiting
    for place in range(1, waiting[0] + 1):
        channel = waiting[place]
        own = state.inputs[channel]
        port = state.ports[own.output]
        row = port.free & own.allowed
        if own.route_at > now or not row:
            kept += 1
            waiting[kept] = channel
            if own.want & (own.want - 1):
                _turn(state, channel)
            continue
        request = state.requests[count]
        request.channel, request.output, request.row, request.won = channel, own.output, row, NONE
        if port.channels_at != now:
            port.channels_at = now
            port.once, port.twice = row, 0
            request.before = NONE
        else:
            port.twice |= port.once & row
            port.once |= row
            request.before = port.rivals
        port.rivals = count
        count += 1
    waiting[0] = kept
    return count


@inlined
def _turn(state: Any, channel: int) -> None:
    """A packet to several outputs asks at the next of them."""
    own = state.inputs[channel]
    output = own.output - own.first_output
    aim(state, channel, next_of(own.want, output + 1, state.rules[0].ports))


@inlined
def _settle(state: Any, last: int, twice: int) -> None:
    """One round among the packets that contend at an output port, ``last`` and those before it."""
    union = 0
    number = last
    while number != NONE:
        request = state.requests[number]
        request.granted = 0
        if request.row & twice:
            union |= request.row
        number = request.before
    while union:
        vc = lowest(union)
        union &= union - 1
        _grant(state, last, twice, vc)
    number = last
    while number != NONE:
        request = state.requests[number]
        if request.granted:
            _accept(state, request, request.granted)
        number = request.before


@inlined
def _grant(state: Any, last: int, twice: int, vc: int) -> None:
    """The channel grants the next in turn of those that ask for it."""
    rules = state.rules[0]
    size = rules.ports * rules.vcs
    output = state.requests[last].output
    pointer = state.outputs[output * rules.vcs + vc].grant
    base = state.ports[output].router * size
    best, nearest = 0, size
    number = last
    while number != NONE:
        request = state.requests[number]
        if request.row & twice and request.row >> vc & 1:
            distance = request.channel - base - pointer
            distance += size if distance < 0 else 0
            if distance < nearest:
                best, nearest = number, distance
        number = request.before
    state.requests[best].granted |= 1 << vc


@inlined
def _accept(state: Any, request: Any, granted: int) -> None:
    rules = state.rules[0]
    size = rules.ports * rules.vcs
    base = state.ports[request.output].router * size
    own = state.inputs[request.channel]
    first = request.output * rules.vcs - base
    won = next_of(granted, own.accept - first, rules.vcs)
    request.won = won
    own.accept = first + won + 1 if first + won + 1 < size else 0
    asking = request.channel - base
    state.outputs[base + first + won].grant = asking + 1 if asking + 1 < size else 0


@njit
def _match_all(state: Any, count: int, now: int) -> None:
    """Other allocators, router by router."""
    for first in range(count):
        router = state.ports[state.requests[first].output].router
        fresh = True
        for number in range(first):
            fresh = fresh and state.ports[state.requests[number].output].router != router
        if fresh:
            _match(state, first, count, router)
            state.matching.met[CHANNELS, router] = now
    if state.rules[0].vc_allocator == MAX_SIZE:
        _pass_turns(state, now)


@njit
def _pass_turns(state: Any, now: int) -> None:
    """Of routers where packets wait but none may ask."""
    rules = state.rules[0]
    for place in range(1, state.waiting[0] + 1):
        own = state.inputs[state.waiting[place]]
        router = state.ports[own.port].router
        if own.route_at <= now and state.matching.met[CHANNELS, router] != now:
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
            request.won = NONE if won == NONE else won % rules.vcs
