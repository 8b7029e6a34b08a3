"""Memory layout of links that packets reserve."""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.base.records import record
from archsim.noc.kernel.layout import Index, Small, Tiny

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


class Turn:
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


class Lane:
    """The turns of a cycle, the first and the last."""

    first: Index
    last: Index


class Output:
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


class Entry:
    """A node: the cycle from which it is free, its router and the cycles to there, the flits that it has sent."""

    free: int
    flits: int
    router: Small
    cycles: Small


TURN, LANE, OUTPUT, ENTRY = map(record, (Turn, Lane, Output, Entry))


class Reservations(NamedTuple):
    """All arrays; as in ``layout.State`` those of the same names. ``lanes``: of each cycle modulo SPAN; ``listed``:
    which of them have turns, a bit each; ``late_*``: a heap, by time, of later turns. ``pipeline``: cycles of a head in
    a router before the switch."""

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
    late_times: Any
    late_entries: Any
    sizes: Any
    streams: Any
    counts: Any
    pipeline: int
