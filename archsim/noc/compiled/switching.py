"""Allocation of the switches: which flits pass in a cycle.

Every input of a router's switch asks for each output for which one of its channels has a flit and a credit, on behalf
of the channel that is next in turn; iSLIP with one round chooses: each output grants the next input that asks, each
input accepts the next output that grants, and both pointers move past the pair. A packet to several nodes sends one
flit to all of the outputs that grant it in the same cycle.

Where packets hold their outputs, one keeps its way through the switch while its flits follow one another.

A speculative router lets heads ask for the switch in the cycle in which they ask for a channel ahead. They ask where
one of the channels that they ask for has a credit, after the packets that have one; a head that passes the allocators
of both leaves in that cycle, one that wins the switch alone has wasted the slot. A packet to several outputs that has a
channel ahead at one of them is no longer a head that guesses.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.compiled.aiming import branch_to
from archsim.noc.compiled.arrivals import list_port
from archsim.noc.compiled.bits import lowest, next_of
from archsim.noc.compiled.matching import SWITCH, match, pass_turn, wish
from archsim.noc.compiled.passing import leave, leave_rare, send, send_rare
from archsim.noc.compiled.records import ACTIVE, INDEX, ISLIP, MAX_SIZE, NO_INDEX, NONE, WAITING


@inlined
def ask(state: Any) -> None:
    """Inputs with channels that can send, or whose heads guess, ask on behalf of those; but for inputs whose packet
    keeps its way."""
    speedup = state.rules[0].speedup
    listed = state.listed
    for place in range(1, listed[0] + 1):
        number = listed[place]
        port = state.ports[number]
        guessing = port.guessing
        port.guessing = 0
        for lane in range(speedup):
            channels = state.lanes[lane]
            source = INDEX(number * speedup + lane)
            if (port.sending | guessing) & channels and state.switch[source].held_output == NONE:
                state.switch[source].asked = 0
                _ask(state, port, number, source, port.sending & channels, False)
                if guessing & channels:
                    _ask_guessing(state, port, number, source, guessing & channels)


@inlined
def _ask(state: Any, port: Any, number: int, source: int, channels: int, guessing: bool) -> None:
    """On behalf of the channels, in turn: for the outputs to which they can send, or which their heads want, and for
    which no channel before has asked."""
    rules = state.rules[0]
    own = state.switch[source]
    while channels:
        vc = next_of(channels, own.first_vc, rules.vcs)
        channels &= ~(1 << vc)
        channel = INDEX(number * rules.vcs + vc)
        asks = state.inputs[channel].want if guessing else state.inputs[channel].ready
        fresh = asks & ~own.asked
        while fresh:
            _add_ask(state, port, source, channel, lowest(fresh))
            fresh &= fresh - 1


@njit
def _ask_guessing(state: Any, port: Any, number: int, source: int, channels: int) -> None:
    """After all that can send, called: it is rare."""
    _ask(state, port, number, source, channels, True)


@inlined
def _add_ask(state: Any, port: Any, source: int, channel: int, output: int) -> None:
    """The input asks for the output on behalf of the channel, unless a packet keeps the way to it."""
    own = state.switch[source]
    number = INDEX(port.first_output + output)
    target = state.ports[number]
    if target.held_by != NO_INDEX:
        return
    wanted = state.wanted
    wanted[INDEX(wanted[0] + 1)] = number
    wanted[0] += 0 if target.asking else 1
    target.asking |= 1 << own.number
    own.asked |= 1 << output
    state.choices[INDEX(source * state.rules[0].ports + output)] = channel


@inlined
def hold(state: Any, number: int, channel: int, output: int) -> None:
    """After a flit has passed: keep the way from the input to the output if the packet's next one is there."""
    own = state.inputs[channel]
    if own.held >> output & 1 and own.count:
        source, held = state.switch[number], state.holding
        source.held_output, source.held_channel = output, channel
        state.ports[_output(state, own, output)].held_by = number
        held[0] += 1
        held[held[0]] = number


@njit
def pass_held(state: Any, before: int, now: int) -> None:
    """The ``before`` packets that held a way when the cycle began send a flit, or give it up."""
    held = state.holding
    kept = 0
    for place in range(1, held[0] + 1):
        number = held[place]
        source = state.switch[number]
        channel, output = source.held_channel, source.held_output
        own = state.inputs[channel]
        keeps = place > before
        if not keeps and own.ready >> output & 1:
            send_rare(state, channel, output, now)
            leave_rare(state, channel, now)
            keeps = own.held >> output & 1 and own.count > 0
        if keeps:
            kept += 1
            held[kept] = number
        else:
            source.held_output = NONE
            state.ports[_output(state, own, output)].held_by = NO_INDEX
    held[0] = kept


@inlined
def _output(state: Any, own: Any, output: int) -> Any:
    return INDEX(state.ports[own.port].first_output + output)


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


@njit
def guess(state: Any, count: int) -> None:
    """Note the heads, of the ``count`` requests for channels, that ask for the switch."""
    state.guessed[0] = 0
    for number in range(count):
        request = state.requests[number]
        own = state.inputs[request.channel]
        if own.state == WAITING and _has_credit(state, request):
            port = state.ports[own.port]
            port.guessing |= own.bit
            list_port(state, port, own.port)


@njit
def send_guessed(state: Any, now: int) -> None:
    """The heads that have won the switch leave if they have won a channel with a credit."""
    guessed = state.guessed
    for place in range(1, guessed[0] + 1):
        channel = INDEX(guessed[2 * place - 1])
        outputs = guessed[2 * place] & state.inputs[channel].ready
        if outputs:
            while outputs:
                send_rare(state, channel, lowest(outputs), now)
                outputs &= outputs - 1
            leave_rare(state, channel, now)


@inlined
def _has_credit(state: Any, request: Any) -> bool:
    row = request.row
    while row:
        if state.outputs[INDEX(request.output * state.rules[0].vcs + lowest(row))].credits:
            return True
        row &= row - 1
    return False
