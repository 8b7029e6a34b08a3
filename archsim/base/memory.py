"""Memory given back to the system: what the C library keeps of what was freed, and parts of arrays."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import numpy as np

from archsim.base.arrays import AnyArray


def give_back() -> None:
    """Between phases that need much at a time; nothing where the C library has no call for it (glibc's malloc_trim)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


class Pages:
    """An array of equal pages, whose memory comes when it is written to and goes page by page.

    ``array``: shape (count * items,) of zeros. A page whose bytes are no multiple of the system's is not given back.
    """

    def __init__(self, count: int, items: int, kind: Any) -> None:
        self._page_bytes = items * np.dtype(kind).itemsize
        private = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
        self._memory = mmap.mmap(-1, max(1, count * self._page_bytes), **({"flags": private} if private else {}))
        self.array: AnyArray = np.frombuffer(self._memory, dtype=kind, count=count * items)

    def release(self, numbers: list[int]) -> None:
        """Give back the memory of these pages, which hold nothing any more."""
        if hasattr(mmap, "MADV_DONTNEED") and self._page_bytes % mmap.PAGESIZE == 0:
            for number in numbers:
                self._memory.madvise(mmap.MADV_DONTNEED, number * self._page_bytes, self._page_bytes)
