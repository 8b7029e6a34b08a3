"""Allocation of the switches: which flits pass in a cycle.

Every input of a router's switch asks for each output for which one of its channels has a flit and a credit, on behalf
of the channel that is next in turn; iSLIP with one round chooses: each output grants the next input that asks, each
input accepts the next output that grants, and both pointers move past the pair. A packet to several nodes sends one
flit to all of the outputs that grant it in the same cycle.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.kernel.asking import ask
from archsim.noc.kernel.bits import lowest, next_of
from archsim.noc.kernel.holding import hold, pass_held
from archsim.noc.kernel.layout import ACTIVE, INDEX, ISLIP, MAX_SIZE, NONE, WAITING
from archsim.noc.kernel.matching import SWITCH, match, pass_turn, wish
from archsim.noc.kernel.passing import leave, send, send_rare
from archsim.noc.kernel.places import branch_to


@inlined
def switch(state: Any, now: int) -> None:
    """Choose flits of the channels that can send, and send them."""
    before = state.holding[0]
    ask(state)
    if state.rules[0].switch_allocator == ISLIP:
        _grant_all(state)
    else:
        _match_all(state, now)
    _accept_all(state, now)
    if before:
        pass_held(state, before, now)


@inlined
def _grant_all(state: Any) -> None:
    """Each output for which some input asks grants the next in turn."""
    rules = state.rules[0]
    size = rules.ports * rules.speedup
    wanted = state.wanted
    for place in range(1, wanted[0] + 1):
        number = wanted[place]
        output = state.ports[number]
        winner = next_of(output.asking, output.grant, size)
        output.asking = 0
        source = state.switch[INDEX(output.first_output * rules.speedup + winner)]
        source.granted |= 1 << INDEX(number - output.first_output)
    wanted[0] = 0


@inlined
def _accept_all(state: Any, now: int) -> None:
    """Flits of the inputs that are granted an output pass; ports that have no other do not ask in the next cycle."""
    speedup = state.rules[0].speedup
    listed = state.listed
    kept = 0
    for place in range(1, listed[0] + 1):
        port = listed[place]
        for lane in range(speedup):
            number = INDEX(port * speedup + lane)
            source = state.switch[number]
            if source.granted:
                _accept(state, source, number, port, now)
        own = state.ports[port]
        own.listed = 1 if own.sending else 0
        listed[INDEX(kept + 1)] = port
        kept += own.listed
    listed[0] = kept


@inlined
def _accept(state: Any, source: Any, number: int, port: int, now: int) -> None:
    """The input accepts one of the outputs that grant it, and with it all to which the same flit goes."""
    rules = state.rules[0]
    granted = source.granted
    source.granted = 0
    output = next_of(granted, source.accept, rules.ports)
    channel = state.choices[INDEX(number * rules.ports + output)]
    source.accept = output + 1 if output + 1 < rules.ports else 0
    following = channel - port * rules.vcs + rules.speedup
    source.first_vc = following if following < rules.vcs else following - rules.vcs
    first = state.ports[port].first_output
    _past(state, source, first, output)
    own = state.inputs[channel]
    if own.state == WAITING:
        _guess(state, source, number, channel, granted, first)
        return
    granted &= ~(1 << output)
    if granted:
        granted = _same_flit(state, number, channel, output, granted)
    send(state, channel, output, now)
    while granted:
        other = lowest(granted)
        granted &= granted - 1
        _past(state, source, first, other)
        send_rare(state, channel, other, now)
    leave(state, channel, now)
    if rules.hold_switch:
        hold(state, number, channel, output)


@njit
def _guess(state: Any, source: Any, number: int, channel: int, granted: int, first: int) -> None:
    """A head without a channel ahead has won the switch: note the outputs."""
    ports = state.rules[0].ports
    outputs = 0
    while granted:
        output = lowest(granted)
        granted &= granted - 1
        if state.choices[INDEX(number * ports + output)] == channel:
            outputs |= 1 << output
            _past(state, source, first, output)
    count = INDEX(state.guessed[0] + 1)
    state.guessed[0] = count
    state.guessed[INDEX(2 * count - 1)], state.guessed[INDEX(2 * count)] = channel, outputs


@njit
def _same_flit(state: Any, number: int, channel: int, output: int, granted: int) -> int:
    """Of the outputs granted, those to which the packet sends the same flit as to ``output``."""
    ports = state.rules[0].ports
    sent = branch_to(state, channel, output).sent
    found = 0
    while granted:
        other = lowest(granted)
        granted &= granted - 1
        same = state.choices[INDEX(number * ports + other)] == channel
        if same and branch_to(state, channel, other).sent == sent:
            found |= 1 << other
    return found


@inlined
def _past(state: Any, source: Any, first: int, output: int) -> None:
    """The output's pointer moves past the input."""
    rules = state.rules[0]
    following = source.number + 1
    state.ports[INDEX(first + output)].grant = following if following < rules.ports * rules.speedup else 0


@njit
def _match_all(state: Any, now: int) -> None:
    """Other allocators, router by router."""
    wanted = state.wanted
    for place in range(1, wanted[0] + 1):
        output = state.ports[wanted[place]]
        if state.matching.met[SWITCH, output.router] != now:
            state.matching.met[SWITCH, output.router] = now
            _match(state, output.router)
        output.asking = 0
    wanted[0] = 0
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
def _match(state: Any, router: int) -> None:
    rules = state.rules[0]
    size = rules.ports * rules.speedup
    for number in range(size):
        source = state.switch[router * size + number]
        while source.asked:
            wish(state.matching, number, lowest(source.asked))
            source.asked &= source.asked - 1
    match(state.matching, rules.switch_allocator, SWITCH, router, size, rules.ports)
    for number in range(size):
        won = state.matching.of_input[number]
        if won != NONE:
            state.switch[router * size + number].granted = 1 << won
