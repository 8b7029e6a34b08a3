"""Links that take a flit for more than a cycle of the network.

A link of period p (cycles for a flit, an exact ratio > 1) takes a flit in the cycle in which it becomes free: flits
that follow one another enter every p cycles in the mean, and each is at the other end when its last part is.
"""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit
from archsim.noc.kernel.layout import INDEX, NO_INDEX, ON_LINK


@njit
def take_link(state: Any, number: int, now: int) -> int:
    """A flit enters the slow link of an output, which no other one asks for until it is free; cycles until it is at
    the other end."""
    pace = state.paces[number]
    pace.free = max(pace.free, now * pace.denominator) + pace.numerator
    state.ports[number].held_by = ON_LINK
    row = state.releases[INDEX((pace.free // pace.denominator) & (state.rules[0].slots - 1))]
    count = INDEX(row[0] + 1)
    row[0] = count
    row[count] = number
    after: int = pace.flit_after - (-pace.free // pace.denominator) - now - 1
    return after


@inlined
def release(state: Any, now: int) -> None:
    """Outputs whose slow links can take a flit in this cycle."""
    row = state.releases[INDEX(now & (state.rules[0].slots - 1))]
    for place in range(1, row[0] + 1):
        state.ports[row[place]].held_by = NO_INDEX
    row[0] = 0
