"""Transfers that follow one another: each is submitted when an earlier one has ended."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import njit
from archsim.base.units import PS_PER_S
from archsim.memory.dram.kernel.layout import NEVER
from archsim.memory.dram.kernel.pace import scaled
from archsim.memory.dram.kernel.serve import advance
from archsim.memory.dram.kernel.transfers import State


@njit
def in_turns(state: State, slots: Any, count: int, most: int) -> int:
    """Run the transfers of ``slots[:count]`` in order, ``most`` under way at a time; the cycle of the last end.

    One that takes the place of another becomes visible in the cycle after its end.
    """
    end, first = 0, 0
    more = min(most, count)
    while True:
        done, next_end = advance(state, slots[first:], more, NEVER - 1)
        first += more
        if done:
            end = state.transfers[state.done[0]].last_beat
        more = min(done, count - first)
        for slot in slots[first : first + more]:
            transfer = state.transfers[slot]
            transfer.visible = transfer.asked_cycle = end + 1
            transfer.asked_ps = scaled(end, PS_PER_S, state.spread[0].clock_hz, False)
        if more == 0 and next_end == NEVER:
            return end
