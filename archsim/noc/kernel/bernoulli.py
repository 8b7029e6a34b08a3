"""Synthetic sources: in each cycle every node makes a packet with the same probability, a message of its own.

A node that still has one to send draws later, for the cycles that it missed: the messages are those of an
unlimited queue, made at the cycle for which they were drawn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.base.jit import inlined
from archsim.noc.kernel.knuth import below, fraction
from archsim.noc.kernel.layout import INDEX, NO_INDEX, NONE
from archsim.noc.kernel.sources import enqueue


class Sources(NamedTuple):
    """``probability``: of a packet; ``targets``: of each node, or none; else drawn from ``drawn``."""

    probability: float
    flits: int
    targets: Any
    drawn: Any


@inlined
def make(state: Any, sources: Any, first: int, now: int) -> int:
    """Each idle node draws until it has a message or has drawn for ``now``; those from ``first`` on are counted."""
    count = 0
    for number in range(state.rules[0].nodes):
        node = state.nodes[number]
        while node.first == NO_INDEX and node.drawn <= now:
            if fraction(state.streams) < sources.probability:
                _make(state, sources, first + count, number, now)
                count += 1
            node.drawn += 1
    return count


@inlined
def _make(state: Any, sources: Any, number: int, source: int, now: int) -> None:
    made = state.messages[INDEX(number)]
    if sources.targets.size:
        made.where = sources.targets[source]
    else:
        made.where = sources.drawn[below(state.streams, sources.drawn.size)]
    below(state.streams, 1)  # the generator's next number chooses among networks, of which there is one
    made.source, made.flits, made.rest, made.left = source, sources.flits, sources.flits, 1
    made.then, made.whole, made.parts = NO_INDEX, number, 1
    made.time, made.made, made.ended, made.arrived = state.nodes[source].drawn, now, NONE, 0
    enqueue(state, number)
