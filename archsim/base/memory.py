"""Memory that the C library keeps of what was freed, given back to the system."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Between phases that need much at a time; nothing where the C library has no call for it (glibc's malloc_trim)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
