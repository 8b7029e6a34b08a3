"""Memory layout of the routers: records, declared once for type checker and compiler.

An input port or output port of router r is ``r * ports + p``; virtual channel v of it ``port * vcs + v``; those of a
node, through which it sends, follow after all of the routers'. A flit is packet << 2 | TAIL | HEAD.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from archsim.records import record

NEVER = 1 << 62
NONE = -1
HEAD, TAIL, FLIT_BITS = 1, 2, 2
IDLE, WAITING, ACTIVE = range(3)  # input channel: no packet; its head waits for a channel ahead; some branch has one
ISLIP, SEPARABLE, WAVEFRONT, MAX_SIZE = range(4)  # allocators
ALL_VCS = 2  # in class_masks, after the two classes
WIRE = 1  # cycles in a link beyond its delay: it is written at the end of one cycle and read at the start of another
CROSSBAR = 1  # cycles through the switch
NOW, UNDER_WAY, NEXT, ARRIVED = range(4)  # of State.counts: cycle; packets sent off and not ended; the next one; flits
MOST_PORTS = 60  # sets of ports and of virtual channels are bits of one word
MOST_VCS = 32

Small = Annotated[Any, np.int32, ()]


class Rules:
    """A network's sizes and behaviour, times in cycles."""

    routers: int
    ports: int
    vcs: int
    depth: int  # flits of a virtual channel's buffer
    nodes: int
    slots: int  # cycles ahead that the calendar reaches, a power of two
    flit_room: int  # flits that can arrive in one cycle
    credit_room: int
    routing_delay: int
    credit_delay: int
    wait_tail: int  # a channel ahead is free again when the last credit of its packet has come back
    hold_switch: int  # a packet keeps its way through the switch while its flits follow one another
    speculative: int  # heads ask for the switch while they ask for a channel
    speedup: int  # inputs of the switch for each port
    vc_allocator: int
    switch_allocator: int


class InputVc:
    """The buffer of one virtual channel of an input port, and where its first packet goes.

    Sets of a router's output ports are bits: ``want`` need a channel ahead, ``held`` have one, ``ready`` can send now.
    Of ``want`` one at a time asks: ``output``, a port of the network, for the channels ``allowed``.
    """

    want: int
    held: int
    ready: int
    upper: int  # output ports at which the packet takes the upper class of channels
    route_at: int  # the cycle from which its head may ask for a channel
    allowed: int
    bit: int  # of it in the sets of its port
    output: Small
    head: Small  # of the buffer
    count: Small
    state: Small
    base: Small  # flits of the first packet that have left the buffer
    accept: Small  # pointer of the channel allocator
    upstream: Small  # the channel behind it, whose credits it returns
    credit_after: Small  # cycles
    port: Small
    first_output: Small  # port 0 of its router
    branch: Small  # of that port in State.branches


class Port:
    """A port's input, whose ``sending`` channels can send, and its output.

    ``channels_*`` and ``switch_*`` are of the allocation in the cycle ``*_at``: the sets of channels that one asks for
    and that several do, the last of those requests, and the last input that asks for the output.
    """

    sending: int
    free: int  # channels of the output that no packet holds
    flits: int  # that have left
    channels_at: int
    once: int
    twice: int
    switch_at: int
    router: Small
    listed: Small  # among the ports that can send
    delay: Small  # of the link behind the output
    dim: Small
    grant: Small  # pointer of the switch allocator
    rivals: Small
    last_ask: Small
    guessing: int  # channels whose heads ask for the switch before they have one ahead
    held_by: Small  # the input of the switch whose packet keeps the way to the output, or NONE


class OutputVc:
    """What an output port, or a node, knows of one virtual channel ahead."""

    credits: Small
    owner: Small  # the input channel whose packet holds it, or NONE
    tail_sent: Small
    grant: Small  # pointer of the channel allocator
    port: Small
    output: Small  # the number of that port in its router
    to: Small  # the input channel at the other end; of one to a node: after all of the routers' channels, itself
    flit_after: Small  # cycles from the switch to there
    bit: int  # of it in the sets of its port


class Input:
    """An input of a router's switch; ``held_*``: the way that a packet keeps, or NONE. ``asked``, ``granted``: outputs."""

    granted: int
    asked: int
    accept: Small
    first_vc: Small  # that is preferred
    held_output: Small
    held_channel: Small


class Node:
    """A queue of packets that wait to be sent, one flit a cycle."""

    free: int  # channels that no packet of it holds
    first: Small
    last: Small
    sent: Small  # flits of the first packet
    drawn: int  # cycles for which it has been drawn whether a packet is made
    vc: Small
    last_vc: Small
    to: Small  # input channel 0 that it feeds
    delay: Small


class Packet:
    """``left``: nodes that it has not reached whole; ``tree``: of a multicast; ``arrived``: flits that have reached one."""

    time: int  # from which its latency counts
    made: int  # when it joined the queue: later, if the node had to draw later
    started: int
    ended: int
    source: Small
    target: Small
    flits: Small
    tree: Small
    left: Small
    arrived: Small
    next: Small


class Route:
    """Of a router and a destination: the output port and the class of channels when a packet turns there; ``other_*``:
    an equally short way, or NONE."""

    port: Small
    upper: Small
    other_port: Small
    other_upper: Small


class Branch:
    """Of an input channel and an output port: the channel ahead, and the flits of the packet that went there."""

    ahead: Small
    sent: Small


class Request:
    """A packet asks for channels ahead (scratch of one cycle); ``before``: the request of a rival before it."""

    row: int  # channels asked for
    granted: int
    channel: Small
    output: Small
    won: Small
    before: Small


class Ask:
    """An input of a switch asks for an output on behalf of a channel (scratch of one cycle)."""

    number: Small  # of the input
    output: Small
    channel: Small
    before: Small  # the ask of a rival before it, or NONE


(RULES, INPUT_VC, PORT, OUTPUT_VC, INPUT, NODE, PACKET, ROUTE, BRANCH, REQUEST, ASK) = map(
    record, (Rules, InputVc, Port, OutputVc, Input, Node, Packet, Route, Branch, Request, Ask)
)


class State(NamedTuple):
    """All arrays of a network. ``calendar_*`` have a row for each coming cycle, the number of its entries first."""

    rules: Any
    class_masks: Any
    routes: Any
    trees: Any  # (trees, routers, 2): output ports, and those of the upper class
    inputs: Any
    branches: Any
    buffers: Any
    ports: Any
    outputs: Any
    switch: Any
    nodes: Any
    packets: Any
    arriving: Any
    credits: Any
    lanes: Any  # channels of each input of a port
    waiting: Any  # channels whose packets have none ahead, their number first
    listed: Any  # ports that can send, their number first
    requests: Any
    asks: Any
    askers: Any  # inputs of switches that ask in this cycle
    guessed: Any  # channels whose heads have won the switch so, their number first
    ties: Any  # channels whose packets have two ways, their number first
    streams: Any  # which break the ties
    holding: Any  # inputs of switches whose packets keep their way, their number first
    matching: Any
    counts: Any  # NOW to ARRIVED
