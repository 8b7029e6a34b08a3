"""Allocators other than iSLIP, on any numbers of inputs and outputs.

``separable``: each input chooses one output in turn, each output one of the inputs that chose it; both turns move past
a pair that is made. ``wavefront``: the diagonals of the matrix of requests, one after the other, from the next one on
each time; a single request is made without. ``max_size``: as many pairs as there can be, by augmenting paths from the
next input on. Source: BookSim 2.0's allocators, by their published descriptions (Becker, Dally: "Allocator
implementations for network-on-chip routers", SC 2009).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import njit
from archsim.noc.compiled.records import MAX_SIZE, NONE, SEPARABLE

CHANNELS, SWITCH = range(2)  # what is allocated


class MatchingScratch(NamedTuple):
    """Scratch of one allocation, of ``size`` inputs and outputs, and the turns that routers keep for the next."""

    wishes: Any  # (size, size): input, output
    asked: Any  # (size + 1,): inputs that ask, their number first
    of_input: Any
    of_output: Any
    came_from: Any
    queue: Any
    input_turns: Any  # (2, routers, size)
    output_turns: Any
    turns: Any  # (2, routers)
    met: Any  # (2, routers): the cycle in which a match was last made, scratch


def matching(routers: int, size: int) -> MatchingScratch:
    """For routers with up to ``size`` inputs and outputs of what is allocated."""
    shape = (2, routers, size)
    return MatchingScratch(
        wishes=np.zeros((size, size), np.int8),
        asked=np.zeros(size + 1, np.int64),
        of_input=np.full(size, NONE, np.int64),
        of_output=np.full(size, NONE, np.int64),
        came_from=np.zeros(size, np.int64),
        queue=np.zeros(size, np.int64),
        input_turns=np.zeros(shape, np.int64),
        output_turns=np.zeros(shape, np.int64),
        turns=np.zeros(shape[:2], np.int64),
        met=np.full(shape[:2], NONE, np.int64),
    )


@njit
def wish(scratch: Any, source: int, target: int) -> None:
    """Input ``source`` asks for output ``target``; inputs ask in order."""
    asked = scratch.asked
    if asked[0] == 0 or asked[asked[0]] != source:
        asked[0] += 1
        asked[asked[0]] = source
    scratch.wishes[source, target] = 1


@njit
def match(scratch: Any, kind: int, what: int, router: int, inputs: int, outputs: int) -> None:
    """Fill ``of_input`` and forget the wishes. ``kind``: the allocator; ``what``: CHANNELS or SWITCH."""
    scratch.of_input[:] = NONE
    scratch.of_output[:] = NONE
    if kind == SEPARABLE:
        _separable(scratch, what, router, inputs, outputs)
    elif kind == MAX_SIZE:
        _max_size(scratch, what, router, inputs, outputs)
    else:
        _wavefront(scratch, what, router, inputs, outputs)
    for place in range(1, scratch.asked[0] + 1):
        scratch.wishes[scratch.asked[place], :] = 0
    scratch.asked[0] = 0


@njit
def pass_turn(scratch: Any, what: int, router: int, inputs: int) -> None:
    """A router whose packets can ask for nothing: its ``max_size`` allocator moves on all the same."""
    scratch.turns[what, router] = (scratch.turns[what, router] + 1) % inputs


@njit
def _separable(scratch: Any, what: int, router: int, inputs: int, outputs: int) -> None:
    own = scratch.input_turns[what, router]
    turns = scratch.output_turns[what, router]
    for place in range(1, scratch.asked[0] + 1):
        source = scratch.asked[place]
        for step in range(outputs):
            target = (own[source] + step) % outputs
            if scratch.wishes[source, target]:
                scratch.came_from[source] = target
                rival = scratch.of_output[target]
                if rival == NONE or (source - turns[target]) % inputs < (rival - turns[target]) % inputs:
                    scratch.of_output[target] = source
                break
    for place in range(1, scratch.asked[0] + 1):
        source = scratch.asked[place]
        target = scratch.came_from[source]
        if scratch.of_output[target] == source:
            scratch.of_input[source] = target
            own[source] = (target + 1) % outputs
            turns[target] = (source + 1) % inputs


@njit
def _wavefront(scratch: Any, what: int, router: int, inputs: int, outputs: int) -> None:
    size = max(inputs, outputs)
    turn = scratch.turns[what, router]
    for wave in range(size):
        for target in range(outputs):
            source = (turn + wave + size - target) % size
            free = source < inputs and scratch.of_input[source] == NONE and scratch.of_output[target] == NONE
            if free and scratch.wishes[source, target]:
                scratch.of_input[source] = target
                scratch.of_output[target] = source
    scratch.turns[what, router] = (turn + 1) % size


@njit
def _max_size(scratch: Any, what: int, router: int, inputs: int, outputs: int) -> None:
    while True:
        found = _augmenting(scratch, scratch.turns[what, router], inputs, outputs)
        if found == NONE:
            break
        target = found
        while target != NONE:
            source = scratch.came_from[target]
            before = scratch.of_input[source]
            scratch.of_output[target] = source
            scratch.of_input[source] = target
            target = before
    scratch.turns[what, router] = (scratch.turns[what, router] + 1) % inputs


@njit
def _augmenting(scratch: Any, first: int, inputs: int, outputs: int) -> int:
    """The free output at the end of a shortest augmenting path, or NONE."""
    scratch.came_from[:] = NONE
    waiting = 0
    for step in range(inputs):
        source = (first + step) % inputs
        if scratch.of_input[source] == NONE:
            scratch.queue[waiting] = source
            waiting += 1
    place = 0
    while place < waiting:
        source = scratch.queue[place]
        place += 1
        for target in range(outputs):
            if scratch.wishes[source, target] and scratch.came_from[target] == NONE:
                scratch.came_from[target] = source
                if scratch.of_output[target] == NONE:
                    return target
                scratch.queue[waiting] = scratch.of_output[target]
                waiting += 1
    return NONE
