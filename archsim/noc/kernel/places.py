"""Where flits lie."""

from __future__ import annotations

from typing import Any

from archsim.kernels import inlined
from archsim.noc.kernel.layout import INDEX


@inlined
def slot(rules: Any, buffer: int, place: int) -> Any:
    """Of State.buffers: a buffer's place, counted round and round."""
    return INDEX((buffer << rules.slot_bits) + (place & ((1 << rules.slot_bits) - 1)))
