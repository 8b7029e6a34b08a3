"""Where on a ring's tape the slot begins that a queue holds at each of its accesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.accesses import slot_starts
from archsim.ir.check.ledger import Ledger
from archsim.ir.program import Ring, Tensor

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Heads:
    """Numbers of ``store`` and ``queue`` of groups of accesses."""

    store: IntArray
    queue: IntArray


def slot_begins(
    ledger: Ledger, items: Sequence[Tensor | Ring], heads: Heads, index: IntArray, group: IntArray
) -> IntArray:
    """Tape byte of the current slot at each access, by command ``index`` in its ``group``; 0 for tensors.

    Below 0 where no slot of a ring is taken yet. Rings are the last of ``items``.
    """
    slot = _slots(ledger, items, heads, index, group)
    wide = np.array([item.slot_bytes if isinstance(item, Ring) else 0 for item in items], dtype=np.int64)
    begins: IntArray = slot * wide[heads.store][group]
    retaining = np.array([isinstance(item, Ring) and item.retain > 0 for item in items], dtype=np.bool_)
    for number in np.flatnonzero(retaining[heads.store]).tolist():
        item = items[int(heads.store[number])]
        if isinstance(item, Ring):
            rows = slice(*np.searchsorted(group, (number, number + 1)).tolist())
            begins[rows] = np.where(slot[rows] < 0, slot[rows], slot_starts(item, ledger)[slot[rows]])
    return begins


def _slots(ledger: Ledger, items: Sequence[Tensor | Ring], heads: Heads, index: IntArray, group: IntArray) -> IntArray:
    """Number of the slot that is held at each access, -1 if none; 0 for tensors."""
    rings = ledger.program.rings
    ring = heads.store - (len(items) - len(rings))
    writer = np.array([ledger.numbers[item.writer] for item in rings], dtype=np.int64)
    key = np.full(len(ring), -1, dtype=np.int64)
    on = ring >= 0
    key[on] = heads.queue[on] * ledger.taken.tokens + 2 * ring[on] + (heads.queue[on] != writer[ring[on]])
    stride = max(map(len, ledger.steps), default=0) + 1
    taken = ledger.taken.each_key * stride + ledger.taken.each_at
    begin = np.searchsorted(ledger.taken.each_key, key, side="left")
    slot = np.searchsorted(taken, key[group] * stride + index, side="right") - begin[group] - 1
    return np.where(on[group], slot, 0)
