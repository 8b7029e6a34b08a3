"""What states hold at time 0: some of their rows, in one stretch of bytes for each index of the axes around them.

So a read of a state is judged by its bytes: those that are there from the start need nobody to write them, and appended
ones do. A state lives on at the end, so nothing else may lie where it does, whenever.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from archsim.base.arrays import BoolArray, IntArray
from archsim.ir.program import PlacedTensor, Ring


def states(items: Sequence[PlacedTensor | Ring]) -> BoolArray:
    """Which of some stores are states."""
    return np.array([is_state(item) for item in items], dtype=np.bool_)


def ragged(items: Sequence[PlacedTensor | Ring]) -> BoolArray:
    """Which of some stores may be read where nobody has written."""
    return np.array([item.ragged for item in items], dtype=np.bool_)


def is_state(item: PlacedTensor | Ring) -> bool:
    """Whether a store is a state."""
    return isinstance(item, PlacedTensor) and item.state is not None


def held_at_start(item: PlacedTensor | Ring) -> tuple[IntArray, IntArray]:
    """First bytes and ends of the stretches that a state holds at time 0, in ascending order; none of other stores."""
    if not isinstance(item, PlacedTensor) or item.state is None or item.state.length == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    axis = item.state.axis
    first = np.array([item.origin], dtype=np.int64)
    for extent, stride in zip(item.shape[:axis], item.strides[:axis], strict=True):
        first = np.add.outer(first, np.arange(extent, dtype=np.int64) * stride).ravel()
    first.sort()
    return first, first + item.state.length * item.strides[axis]
