"""Memory layout of links that packets reserve."""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.noc.kernel.layout import Index, Small, Tiny
from archsim.records import record

NUMBER_BITS = 28  # of a record in a heap's entry, below a number that says in which order entries became known
# of Reservations.sizes: entries of the heap, all so far, the first unused record
TURNS, ORDER, FREE = range(3)
SIZES = 3
AT_NODE = -1


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
    free: Index  # of an unused record: the next one


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


TURN, OUTPUT, ENTRY = map(record, (Turn, Output, Entry))


class Reservations(NamedTuple):
    """All arrays; as in ``layout.State`` those of the same names. ``turn_*``: a heap, by time, of
    turns to come. ``pipeline``: cycles of a head in a router before the switch."""

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
    turn_times: Any
    turn_entries: Any
    sizes: Any
    streams: Any
    counts: Any
    pipeline: int
