"""Memory layout of the routers: records, declared once for type checker and compiler.

An input port or output port of router r is ``r * ports + p``, and after all of the routers' follows one for each node,
through which it sends; virtual channel v of a port is ``port * vcs + v``. What is only an index has no sign: the
compiled code need not look for negative ones. What one visit reads lies in one or two cache lines.

A flit is message << 32 | where << 1 | TAIL; ``where`` it goes: to a node, or from ``nodes`` on along a multicast's
tree. Packets have no numbers: their flits follow one another in a channel up to a TAIL. A flit is written into the
buffer at the other end of its channel when it is sent, and counts there when it arrives; those to a node have a buffer
too, after all of the routers'.

At fidelity ``link`` an output has a record of when its link is free, and turns to come have records of their own.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from archsim.base.records import record

NEVER = 1 << 62
NONE = -1
INDEX: Any = np.uint32
NUMBER: Any = np.int64
NO_INDEX = (1 << 32) - 1
NO_PORT = (1 << 8) - 1  # in a route
EMPTYING = NO_INDEX - 1  # owner of a channel ahead whose packet has left for it, until its buffer is empty
ON_LINK = NO_INDEX - 1  # what keeps the way to an output while its slow link takes a flit
TAIL, WHERE_BITS, MESSAGE_BITS = 1, 1, 32  # of a flit: bits below ``where`` and below the message's number
IDLE, WAITING, ACTIVE = range(3)  # input channel: no packet; its head waits for a channel ahead; some branch has one
ISLIP, SEPARABLE, WAVEFRONT, MAX_SIZE = range(4)  # allocators
ALL_VCS = 2  # in class_masks, after the two classes
SLOW = 0  # in place of cycles on the way: the output's link takes more than a cycle for a flit
SLOW_DIMS = 2
# of State.counts: the cycle; messages under way, and of those at their sources; made by synthetic traffic; flits that
# reached a node; the cycle from which nothing moves once nothing is under way; first and last message to come, and
# the first unused record, or NONE
NOW, UNDER_WAY, AT_SOURCE, MADE, ARRIVED, QUIET, COMING, COMING_LAST, SPARE = range(9)
COUNTS = 9
# of a message in a shipment: of its own; others wait for it; waits for the last such one
PLAIN, ASKS, LED = range(3)
MOST_VCS = 32
SPREAD = (1 << 6) - 1  # bits of an output's number

Small = Annotated[Any, np.int32, ()]
Index = Annotated[Any, INDEX, ()]
Vcs = Annotated[Any, np.uint32, ()]  # a set of virtual channels
ReservedTurn = Annotated[Any, np.uint16, ()]  # pointer of an allocator
Tiny = Annotated[Any, np.uint8, ()]
Dim = Annotated[Any, np.int16, ()]


class NocRules:
    """A network's sizes and behaviour, times in cycles."""

    routers: int
    ports: int
    vcs: int
    depth: int  # flits of a virtual channel's buffer
    slot_bits: int  # of its place in State.buffers: the power of two that holds it
    channels: int  # of all routers
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
    packet_flits: int  # of payload in a packet, at most
    header_flits: int
    sink_cycles: int  # from the last switch to a node, the least


class InputVc:
    """The buffer of one virtual channel of an input port, and where its first packet goes.

    Sets of a router's output ports are bits: ``want`` need a channel ahead, ``held`` have one, ``ready`` can send now.
    Of ``want`` one at a time asks: ``output``, a port of the network, for the channels ``allowed``.
    """

    want: int
    held: int
    ready: int
    head: Small  # of the buffer
    count: Small
    base: Small  # flits of the first packet that have left the buffer
    output: Index
    allowed: Vcs
    bit: Vcs  # of it in the sets of its port
    upstream: Index  # the channel behind it, whose credits it returns
    port: Index
    accept: ReservedTurn  # of the channel allocator
    state: Tiny
    spread: Tiny  # mask of outputs: of the first packet, if it has several, so that each has its branch; else 0


class PortRecord:
    """A port's input, whose ``sending`` channels can send, and its output, whose ``free`` ones no packet holds.

    Of one cycle's allocation of channels: the sets for which one packet asks, ``once``, and several do, ``twice``, and
    the last of those requests; of the switch's: which of the router's inputs ask for the output.
    """

    asking: int
    sending: Vcs
    free: Vcs
    guessing: Vcs  # whose heads ask for the switch before they have a channel ahead
    once: Vcs
    twice: Vcs
    rivals: Index
    router: Index
    first_output: Index  # port 0 of its router
    held_by: Index  # the input of the switch whose packet keeps the way to the output, ON_LINK or NO_INDEX
    credit_after: Small  # cycles until a place that is free in the input's buffer is known behind it
    sink_after: Small  # the same of the node behind the output
    flit_after: Small  # cycles from the switch, or the node, to the other end of the output; SLOW: see its Pace
    dim: Dim
    grant: Tiny  # pointer of the switch allocator
    listed: Tiny  # among the ports that can send


class LinkPace:
    """Of a slow link: cycles for a flit, as a ratio; from when it is ``free``, in parts, ``denominator`` to a cycle."""

    numerator: int
    denominator: int
    free: int
    flit_after: int  # as of a link of a flit a cycle


class OutputVc:
    """What an output port, or a node, knows of one virtual channel ahead."""

    sent: int  # flits, so far
    credits: Small
    owner: Index  # the input channel whose packet holds it, NO_INDEX or EMPTYING
    to: Index  # the buffer at the other end: an input channel; of one to a node: itself, after all of the routers'
    port: Index
    taken: Small  # flits by the node behind it, so far, modulo 1 << 32
    grant: ReservedTurn  # of the channel allocator
    output: Tiny  # the number of its port in the router
    vc: Tiny


class InputRecord:
    """An input of a switch. ``asked``, ``granted``: outputs; ``held_*``: the way that a packet keeps, or NONE."""

    granted: int
    asked: int
    held_output: Small
    held_channel: Index
    number: Tiny  # in its router
    accept: Tiny  # pointer of the switch allocator
    first_vc: Tiny  # that is preferred


class NodeRecord:
    """A queue of messages that have packets to send, in turn, one flit a cycle."""

    drawn: int  # cycles for which it has been drawn whether a message is made
    first: Index  # or NO_INDEX
    last: Index
    port: Index  # its own
    vc: Small  # that the packet which is being sent holds, or NONE
    last_vc: Small
    sent: Small  # flits of that packet
    size: Small  # in all, its header too


class MessageRecord:
    """What a node sends in one or more packets. Of a message to several nodes without a tree each copy is a record.

    Records that end together, when the last of them has arrived, are members of a shipment; ``whole`` is its first one.
    What is read for each packet comes first: it lies in one cache line.
    """

    where: Small  # to a node, or from ``nodes`` on along a tree
    flits: Small  # of payload
    rest: Small  # of them, not in a packet that has been sent whole
    next: Index  # in the queue of its node; before, of those to come, of those that ``then`` names, or of unused ones
    time: int  # from which its latency counts
    made: int  # when it joined the queue: later, if the node had to draw later
    started: int
    ended: int
    after: int  # ps from the edge before to when it was sent: of messages that join in one cycle the least goes first
    key: int  # of those of one instant the least
    source: Small
    left: Small  # packets, each times the nodes to which it goes, that have not arrived
    arrived: Small  # flits at their nodes
    then: Index  # the first of those that are to go when this one has arrived, or NO_INDEX
    whole: Index
    member: Index  # the next one of the shipment, or NO_INDEX
    parts: Small  # of a ``whole``: members that have not arrived
    flight: Small  # cycles of its last flit from the source to where it arrives last, at least


class FanRecord:
    """From a node to those that a message reaches, in ``copies`` from ``first`` on."""

    source: Small
    first: Small
    copies: Small


class CopyRecord:
    """Where a message's copy goes, how many nodes that are, and its flight, as in a Message."""

    where: Small
    nodes: Small
    flight: Small


class RouteRecord:
    """Of a router and a destination: the output port and the class of channels when a packet turns there; ``other_*``:
    an equally short way, or NO_PORT."""

    port: Tiny
    upper: Tiny
    other_port: Tiny
    other_upper: Tiny


class BranchRecord:
    """Of an input channel and an output port: the channel ahead, and the flits of the packet that went there."""

    ahead: Index
    sent: Small


class ChannelRequest:
    """A packet asks for channels ahead (scratch of one cycle); ``before``: the request of a rival before it."""

    row: Vcs  # channels asked for
    granted: Vcs
    channel: Index
    output: Index
    before: Index


(RULES, INPUT_VC, PORT, PACE, OUTPUT_VC, INPUT, NODE, MESSAGE, FAN, COPY, ROUTE, BRANCH, REQUEST) = map(
    record,
    (
        NocRules,
        InputVc,
        PortRecord,
        LinkPace,
        OutputVc,
        InputRecord,
        NodeRecord,
        MessageRecord,
        FanRecord,
        CopyRecord,
        RouteRecord,
        BranchRecord,
        ChannelRequest,
    ),
)


class NocState(NamedTuple):
    """All arrays of a network. Lists are indices, their number first. The calendars ``arriving``, ``due``, ``credits``
    and ``releases`` have a list for each coming cycle; ``arriving`` two, of flits to routers and to nodes."""

    rules: Any
    class_masks: Any
    routes: Any
    trees: Any  # (trees, routers, 2, words): output ports, and those of the upper class
    inputs: Any
    branches: Any  # of output * channels + channel, where a packet has several outputs; else of the channel
    buffers: Any
    ports: Any
    paces: Any  # of the ports
    slow: Any  # SLOW_DIMS dimensions where links are slow, else one: a network without them has its own code
    outputs: Any
    switch: Any
    nodes: Any
    messages: Any
    done: Any  # shipments that ended in this cycle, each by its first record
    sending: Any  # nodes that have a packet
    arriving: Any  # buffers
    fronts: Any  # channels whose heads are to be routed
    due: Any  # channels whose heads may ask for channels ahead
    credits: Any  # channels ahead
    releases: Any  # outputs whose slow links can take a flit again
    lanes: Any  # channels of each input of a port
    waiting: Any  # channels whose packets have none ahead
    listed: Any  # ports that can send
    wanted: Any  # outputs for which an input asks in this cycle
    choices: Any  # of input of a switch * ports + output: the channel on whose behalf it asks
    requests: Any
    guessed: Any  # channels whose heads have won the switch so, each with its outputs; their number first
    ties: Any  # packets that have two ways: 1 << 32 if just arrived, and the channel; their number first
    streams: Any  # which break the ties
    holding: Any  # inputs of switches whose packets keep their way
    matching: Any
    counts: Any  # NOW to SPARE


NUMBER_BITS = 28  # of a record in a heap's entry, below a number that says in which order entries became known
# of Reservations.sizes: turns to come, all so far, the first unused record; the first cycle of the lists, and how many
# turns are in the heap
TURNS, ORDER, FREE, BASE, LATE = range(5)
SIZES = 5
WORD_BITS = 6
WORDS = 32
SPAN = WORDS << WORD_BITS  # cycles for which turns stand in lists, a power of two
AT_NODE = -1
FULL = -1  # in place of a bound: there might be no room for further turns


class HeadTurn:
    """A packet whose head is at a router, or whose tail is to reach a node; or a node that can send (``message``:
    NO_INDEX).

    ``lag``: cycles by which its last flit follows later than ``flits`` - 1 after the first, where others' flits are
    between its own; ``spread``: further ones since a slow link; ``waited``: of its head.
    """

    number: int  # of all so far
    due: int  # of a tail that does not lag: when it arrives
    message: Index
    flits: Small
    at: Small  # router or, of a tail, AT_NODE
    came_by: Index  # output port, or from ``outputs`` on a node
    lag: Small
    spread: Small
    waited: Small
    next: Index  # of an unused record, or of those of one cycle
    behind: Small  # how many nodes of its cycle have their turns before it, in a star


class CycleTurns:
    """The turns of a cycle, the first and the last."""

    first: Index
    last: Index


class ReservedOutput:
    """A router's output port: the cycle from which it is free, flits so far, the router at its other end and the cycles
    to there; ``sink``: a node is there. ``last*``: the packet that passed last, as it was then.

    Of a ``slow`` link, which takes ``numerator / denominator`` cycles for a flit, ``until``: when it has passed all
    that was sent, in parts of which ``denominator`` are a cycle.
    """

    free: int
    flits: int
    last_number: int
    numerator: int
    denominator: int
    until: int
    last: Index
    last_came_by: Index
    last_waited: Small
    to: Small
    cycles: Small
    sink: Tiny
    slow: Tiny


class ReservedNode:
    """A node: the cycle from which it is free, its router and the cycles to there, the flits that it has sent."""

    free: int
    flits: int
    router: Small
    cycles: Small


TURN, LANE, OUTPUT, ENTRY = map(record, (HeadTurn, CycleTurns, ReservedOutput, ReservedNode))


class Reservations(NamedTuple):
    """All arrays; as in ``layout.State`` those of the same names. ``lanes``: of each cycle modulo SPAN; ``listed``:
    which of them have turns, a bit each; ``late_*``: a heap, by time, of later turns. ``pipeline``: cycles of a head in
    a router before the switch. ``is_star``: whether the network is one router, as far from all nodes; ``ring``: then
    the nodes that have turns in each cycle (``star``)."""

    rules: Any
    routes: Any
    trees: Any
    messages: Any
    done: Any
    sending: Any  # nodes that have just got a message and had none
    nodes: Any
    entries: Any
    outputs: Any
    turns: Any
    lanes: Any
    listed: Any
    ring: Any
    late_times: Any
    late_entries: Any
    sizes: Any
    streams: Any
    counts: Any
    pipeline: int
    is_star: int
