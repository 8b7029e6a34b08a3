"""Allocation of the switches: which flits pass in a cycle.

Every input of a router's switch asks for each output for which one of its channels has a flit and a credit, on behalf
of the channel that is next in turn; iSLIP with one round chooses: each output grants the next input that asks, each
input accepts the next output that grants, and both pointers move past the pair. A packet to several nodes sends one
flit to all of the outputs that grant it in the same cycle.
"""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined, njit
from archsim.noc.kernel.bits import lowest, next_of
from archsim.noc.kernel.holding import hold, pass_held
from archsim.noc.kernel.layout import ACTIVE, ISLIP, MAX_SIZE, NONE, WAITING
from archsim.noc.kernel.matching import SWITCH, match, pass_turn, wish
from archsim.noc.kernel.passing import leave, send
from archsim.noc.kernel.speculating import add_ask, ask_guessing


@inlined
def switch(state: Any, now: int) -> None:
    """Choose flits of the channels that can send, and send them."""
    before = state.holding[0]
    inputs = _gather(state, now)
    if state.rules[0].switch_allocator == ISLIP:
        for place in range(inputs[1]):
            _grant(state, place)
    else:
        _match_all(state, inputs[1], now)
    for place in range(inputs[0]):
        number = state.askers[place]
        if state.switch[number].granted:
            _accept(state, number, now)
    if before:
        pass_held(state, before, now)


@inlined
def _gather(state: Any, now: int) -> tuple[int, int]:
    """Numbers of inputs that ask and of what they ask for."""
    speedup = state.rules[0].speedup
    inputs = asks = kept = 0
    listed = state.listed
    for place in range(1, listed[0] + 1):
        number = listed[place]
        port = state.ports[number]
        guessing = port.guessing
        port.guessing = 0
        if not port.sending | guessing:
            port.listed = 0
            continue
        kept += 1
        listed[kept] = number
        for lane in range(speedup):
            channels = state.lanes[lane]
            if (port.sending | guessing) & channels and state.switch[number * speedup + lane].held_output == NONE:
                state.askers[inputs] = number * speedup + lane
                asks = _ask(state, number, number * speedup + lane, port.sending & channels, asks, now)
                if guessing & channels:
                    asks = ask_guessing(state, number, number * speedup + lane, guessing & channels, asks, now)
                inputs += 1
    listed[0] = kept
    return inputs, asks


@inlined
def _ask(state: Any, port: int, number: int, channels: int, asks: int, now: int) -> int:
    rules = state.rules[0]
    source = state.switch[number]
    source.granted = 0
    row = 0
    while channels:
        vc = next_of(channels, source.first_vc, rules.vcs)
        channels &= ~(1 << vc)
        own = state.inputs[port * rules.vcs + vc]
        fresh = own.ready & ~row
        row |= fresh
        while fresh:
            output = own.first_output + lowest(fresh)
            fresh &= fresh - 1
            asks = add_ask(state, number, output, port * rules.vcs + vc, asks, now)
    source.asked = row
    return asks


@inlined
def _grant(state: Any, place: int) -> None:
    """If it is the last ask for an output: the output grants the next in turn."""
    ask = state.asks[place]
    output = state.ports[ask.output]
    if output.last_ask != place:
        return
    best = place
    if ask.before != NONE:
        size = state.rules[0].ports * state.rules[0].speedup
        base = output.router * size
        nearest = size
        number = place
        while number != NONE:
            other = state.asks[number]
            distance = other.number - base - output.grant
            distance += size if distance < 0 else 0
            if distance < nearest:
                best, nearest = number, distance
            number = other.before
    output.rivals = best
    winner = state.asks[best]
    state.switch[winner.number].granted |= 1 << ask.output - state.inputs[winner.channel].first_output


@inlined
def _accept(state: Any, number: int, now: int) -> None:
    """The input accepts one of the outputs that grant it, and with it all to which the same flit goes."""
    rules = state.rules[0]
    source = state.switch[number]
    granted = source.granted
    output = next_of(granted, source.accept, rules.ports)
    port = number if rules.speedup == 1 else number // rules.speedup
    first = state.ports[port].router * rules.ports
    channel = state.asks[state.ports[first + output].rivals].channel
    vc = channel - port * rules.vcs
    source.accept = output + 1 if output + 1 < rules.ports else 0
    following = vc + rules.speedup
    source.first_vc = following if following < rules.vcs else following - rules.vcs
    _past(state, number, first, output)
    if state.inputs[channel].state == WAITING:
        state.guessed[0] += 1
        state.guessed[state.guessed[0]] = channel
        return
    granted &= ~(1 << output)
    own = state.inputs[channel]
    sent = state.branches[own.branch + output].sent
    send(state, channel, output, now)
    while granted:
        other = lowest(granted)
        granted &= granted - 1
        same = state.asks[state.ports[first + other].rivals].channel == channel
        if same and state.branches[own.branch + other].sent == sent:
            _past(state, number, first, other)
            send(state, channel, other, now)
    leave(state, channel, now)
    if rules.hold_switch:
        hold(state, number, channel, output)


@inlined
def _past(state: Any, number: int, first: int, output: int) -> None:
    """The output's pointer moves past the input."""
    rules = state.rules[0]
    size = rules.ports * rules.speedup
    following = number - first * rules.speedup + 1
    state.ports[first + output].grant = following if following < size else 0


@njit
def _match_all(state: Any, asks: int, now: int) -> None:
    """Other allocators, router by router."""
    for first in range(asks):
        router = state.ports[state.asks[first].output].router
        fresh = True
        for number in range(first):
            fresh = fresh and state.ports[state.asks[number].output].router != router
        if fresh:
            _match(state, first, asks, router)
            state.matching.met[SWITCH, router] = now
    if state.rules[0].switch_allocator == MAX_SIZE:
        _pass_turns(state, now)


@njit
def _pass_turns(state: Any, now: int) -> None:
    """Of routers where flits wait but none may ask."""
    rules = state.rules[0]
    for channel in range(state.inputs.size):
        own = state.inputs[channel]
        router = state.ports[own.port].router
        if own.state == ACTIVE and own.count and state.matching.met[SWITCH, router] != now:
            state.matching.met[SWITCH, router] = now
            pass_turn(state.matching, SWITCH, router, rules.ports * rules.speedup)


@njit
def _match(state: Any, first: int, asks: int, router: int) -> None:
    rules = state.rules[0]
    base = router * rules.ports
    for number in range(first, asks):
        ask = state.asks[number]
        if state.ports[ask.output].router == router:
            wish(state.matching, ask.number - base * rules.speedup, ask.output - base)
    match(state.matching, rules.switch_allocator, SWITCH, router, rules.ports * rules.speedup, rules.ports)
    for number in range(first, asks):
        ask = state.asks[number]
        if state.ports[ask.output].router == router:
            won = state.matching.of_input[ask.number - base * rules.speedup]
            if won == ask.output - base:
                state.switch[ask.number].granted = 1 << won
                state.ports[ask.output].rivals = number
