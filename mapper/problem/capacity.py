"""How many bytes of a memory the tiles of one layer may hold, and the least memory that gives them so many."""

from __future__ import annotations

from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory

RINGS_PER_LAYER = 6  # each may lose up to a word to alignment
CAPACITY_STEPS = 16  # free bytes beside pinned tensors count in 16ths, so that equal layers are searched once


def shared(architecture: Architecture) -> tuple[Memory, ...]:
    """The on-chip memories through which inputs and outputs pass, outermost first: tensors may stay in them.

    Of a chip with several cores those that all cores reach.
    """
    inputs, outputs = (architecture.inside(role, architecture.outer(role).name) for role in ("inputs", "outputs"))
    own = architecture.noc.inside if architecture.noc is not None else ()
    return tuple(memory for memory in inputs if memory in outputs and memory.name not in own)


def usable(memory: Memory, free_bytes: int, capacity_bytes: int, is_shared: bool) -> int:
    """Bytes for tiles out of ``free_bytes`` of a memory; ``is_shared``: tensors may be pinned in it."""
    step = max(1, capacity_bytes // CAPACITY_STEPS) if is_shared else 1
    return free_bytes // step * step - RINGS_PER_LAYER * memory.word_bytes


def least_size(memory: Memory, need_bytes: int, is_shared: bool) -> int:
    """Bytes of the smallest such memory, in whole words of all its banks, that has ``need_bytes`` for tiles."""
    row = memory.word_bytes * memory.banks
    size = -(-(need_bytes + RINGS_PER_LAYER * memory.word_bytes) // row) * row
    while usable(memory, size, size, is_shared) < need_bytes:
        size += row
    return size
