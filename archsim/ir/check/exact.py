"""Byte-exact comparison of the few operands whose bounding intervals do not settle a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from archsim.ir.check.accesses import Accesses, Store
from archsim.ir.footprint import reachable

BoolArray = NDArray[np.bool_]


def meet(store: Store, one: Accesses, i: int, two: Accesses, j: int) -> tuple[int, int] | None:
    """First stretch [low, high) of bytes that access ``i`` of ``one`` and ``j`` of ``two`` share, or None."""
    low = min(int(one.low[i]), int(two.low[j]))
    size = max(int(one.high[i]), int(two.high[j])) - low
    first, second = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    _paint(first, low, store, one, i, True)
    _paint(second, low, store, two, j, True)
    shared = first & second
    if not shared.any():
        return None
    start = int(np.argmax(shared))
    rest = shared[start:]
    length = len(rest) if rest.all() else int(np.argmin(rest))
    return low + start, low + start + length


def missing_byte(store: Store, reads: Accesses, at: int, writes: Sequence[Accesses]) -> int | None:
    """First byte of read number ``at`` that none of ``writes`` covers, or None."""
    low = min([int(reads.low[at]), *(int(part.low.min()) for part in writes if len(part.index))])
    high = max([int(reads.high[at]), *(int(part.high.max()) for part in writes if len(part.index))])
    wanted = np.zeros(high - low, dtype=np.bool_)
    _paint(wanted, low, store, reads, at, True)
    for part in writes:
        for number in range(len(part.index)):
            _paint(wanted, low, store, part, number, False)
    return low + int(np.argmax(wanted)) if wanted.any() else None


def _paint(canvas: BoolArray, origin: int, store: Store, accesses: Accesses, at: int, value: bool) -> None:
    """Set the bytes that an access touches; byte ``origin`` is the canvas's first, all of them lie inside it."""
    touched = reachable(store.regions[int(accesses.region[at])], store.step(accesses, at))
    first = int(accesses.low[at]) - origin
    shape = (*(extent for extent, _ in touched.outer), touched.run_bytes)
    strides = (*(stride for _, stride in touched.outer), 1)
    as_strided(canvas[first:], shape, strides)[...] = value
