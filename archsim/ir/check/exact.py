"""Byte-exact comparison of the few operands whose bounding intervals do not settle a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.accesses import Accesses, Store
from archsim.ir.footprint import footprint

BoolArray = NDArray[np.bool_]


def meet(store: Store, one: Accesses, i: int, two: Accesses, j: int) -> tuple[int, int] | None:
    """First stretch [low, high) of bytes that access ``i`` of ``one`` and ``j`` of ``two`` share, or None."""
    low = max(int(one.low[i]), int(two.low[j]))
    high = min(int(one.high[i]), int(two.high[j]))
    shared = _mask(store, one, i, low, high) & _mask(store, two, j, low, high)
    if not shared.any():
        return None
    first = int(np.argmax(shared))
    rest = shared[first:]
    length = len(rest) if rest.all() else int(np.argmin(rest))
    return low + first, low + first + length


def missing_byte(store: Store, reads: Accesses, at: int, writes: Sequence[Accesses]) -> int | None:
    """First byte of read number ``at`` that none of ``writes`` covers, or None."""
    low, high = int(reads.low[at]), int(reads.high[at])
    wanted = _mask(store, reads, at, low, high)
    for part in writes:
        for number in range(len(part.index)):
            wanted &= ~_mask(store, part, number, low, high)
    return low + int(np.argmax(wanted)) if wanted.any() else None


def _mask(store: Store, accesses: Accesses, at: int, low: int, high: int) -> BoolArray:
    """Which bytes of [low, high) an access touches."""
    touched = footprint(store.regions[int(accesses.region[at])], store.step(accesses, at))
    starts = np.array([int(accesses.low[at])], dtype=np.int64)
    for extent, stride in touched.outer:
        starts = (starts[:, None] + np.arange(extent, dtype=np.int64) * stride).ravel()
    begins = np.clip(starts - low, 0, high - low)
    ends = np.clip(starts + touched.run_bytes - low, 0, high - low)
    size = high - low + 1
    depth = np.cumsum(np.bincount(begins, minlength=size) - np.bincount(ends, minlength=size))
    return depth[:-1] > 0
