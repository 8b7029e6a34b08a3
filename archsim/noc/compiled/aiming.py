"""Packets at the front of their buffers: the outputs that they need and the channels for which they may ask there.

The network's stream of random numbers chooses for a packet that has two equally short ways. A packet to several nodes
keeps where each of its branches stands.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.compiled.knuth import below
from archsim.noc.compiled.records import ALL_VCS, INDEX, NO_PORT, SPREAD, WAITING, WHERE_BITS


@inlined
def slot(rules: Any, buffer: int, place: int) -> Any:
    """Of State.buffers: a buffer's place, counted round and round."""
    return INDEX((buffer << rules.slot_bits) + (place & ((1 << rules.slot_bits) - 1)))


@inlined
def branch_to(state: Any, channel: int, output: int) -> Any:
    """The record of the packet's branch: a packet with one output has the first of its channel, close to others'."""
    return state.branches[INDEX((output & state.inputs[channel].spread) * state.rules[0].channels + channel)]


@inlined
def to_front(state: Any, channel: int, own: Any) -> None:
    """A head is at the front of the buffer: it will be routed at the end of the cycle if it arrived in it, else of the
    next one."""
    own.state = WAITING
    count = INDEX(state.fronts[0] + 1)
    state.fronts[0] = count
    state.fronts[count] = channel


@inlined
def route_fronts(state: Any, before: int, now: int) -> None:
    """Heads at the front are routed, the first ``before`` of them since the cycle before, and can then ask."""
    rules = state.rules[0]
    fronts, due = state.fronts, state.due[INDEX((now + rules.routing_delay) & (rules.slots - 1))]
    for place in range(1, fronts[0] + 1):
        channel = fronts[place]
        _route(state, channel, place > before)
        due[INDEX(due[0] + place)] = channel
    due[0] += fronts[0]
    fronts[0] = 0


@inlined
def _route(state: Any, channel: int, arrived: int) -> None:
    rules = state.rules[0]
    own = state.inputs[channel]
    own.base = 0
    router = state.ports[own.port].router
    where = where_to(state, channel)
    if where >= rules.nodes:
        _branch_out(state, channel, where - rules.nodes)
        return
    route = state.routes[router, where]
    own.spread = 0
    own.want = 1 << route.port
    aim(state, own, route.port, route.upper)
    if route.other_port != NO_PORT:
        state.ties[0] += 1
        state.ties[state.ties[0]] = arrived << 32 | channel


@njit
def _branch_out(state: Any, channel: int, tree: int) -> None:
    own = state.inputs[channel]
    own.spread = SPREAD
    own.want = state.trees[tree, state.ports[own.port].router, 0, 0]


@inlined
def where_to(state: Any, channel: int) -> Any:
    """Where the first packet of the channel goes: to a node, or from ``nodes`` on along a tree."""
    flit = state.buffers[slot(state.rules[0], channel, state.inputs[channel].head)]
    return INDEX(INDEX(flit) >> WHERE_BITS)


@inlined
def aim(state: Any, own: Any, output: int, upper: int) -> None:
    """Ask at this output next: for channels of the packet's class, which it keeps along a dimension."""
    port = state.ports[own.port]
    own.output = port.first_output + output
    own.allowed = state.class_masks[ALL_VCS]
    if state.class_masks[1]:
        dim = state.ports[own.output].dim
        if dim >= 0:
            same = 1 if state.class_masks[1] & own.bit else 0
            own.allowed = state.class_masks[INDEX(same if dim == port.dim else upper)]


@njit
def aim_branch(state: Any, channel: int, output: int) -> None:
    """Ask at this one of several outputs next."""
    own = state.inputs[channel]
    tree = where_to(state, channel) - state.rules[0].nodes
    upper = state.trees[tree, state.ports[own.port].router, 1, 0]
    aim(state, own, output, upper >> output & 1)


@njit
def break_ties(state: Any) -> None:
    """In order of routers; in each, in the order in which the packets came to the front, then of ports."""
    ties = state.ties
    _sort(state)
    for place in range(1, ties[0] + 1):
        channel = INDEX(ties[place])
        own = state.inputs[channel]
        route = state.routes[state.ports[own.port].router, where_to(state, channel)]
        if below(state.streams, 2) == 0:
            own.want = 1 << route.other_port
            aim(state, own, route.other_port, route.other_upper)
    ties[0] = 0


@njit
def _sort(state: Any) -> None:
    """By insertion: few, and those of a router nearly in order."""
    ties = state.ties
    for place in range(2, ties[0] + 1):
        tie = ties[place]
        key = _key(state, tie)
        to = place
        while to > 1 and _key(state, ties[to - 1]) > key:
            ties[to] = ties[to - 1]
            to -= 1
        ties[to] = tie


@njit
def _key(state: Any, tie: int) -> int:
    number = state.inputs[INDEX(tie)].port
    first = state.ports[number].first_output
    found: int = (tie >> 32) * state.rules[0].ports + number + first
    return found
