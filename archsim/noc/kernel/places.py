"""Where flits lie, and where a packet's branches are kept."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined
from archsim.noc.kernel.layout import INDEX


@inlined
def slot(rules: Any, buffer: int, place: int) -> Any:
    """Of State.buffers: a buffer's place, counted round and round."""
    return INDEX((buffer << rules.slot_bits) + (place & ((1 << rules.slot_bits) - 1)))


@inlined
def branch_to(state: Any, channel: int, output: int) -> Any:
    """The record of the packet's branch: a packet with one output has the first of its channel, close to others'."""
    return state.branches[INDEX((output & state.inputs[channel].spread) * state.rules[0].channels + channel)]
