"""Compiled entries by their addresses, and what they work on as words in memory.

The event machine calls models, DRAMs and networks, of which a chip has some and most commands none, without being
compiled with any of them: it knows an entry's address, and that of a table of words from which the entry reads where
its arrays lie. ``int32 entry(int64 *result, void **error, void *, int64 table, int64 a, int64 b, int64 c)`` is what
all of them are, as Numba's functions call one another; the third argument is the type of the table for the compiler,
and nothing when it runs.

What is relied on of Numba: how it lays out arrays and tuples (``archsim.base.words``), which are words of 64 bits
throughout.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property
from typing import Any

from archsim.base import native

_CALLED = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4)


class Intrinsic:
    """What compiled code is given under the name of one of ``archsim.base.intrinsics``; Python cannot call it."""

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def _numba_type_(self) -> Any:
        """What Numba takes it for."""
        from numba.core.registry import cpu_target

        from archsim.base import intrinsics

        cpu_target.typing_context.refresh()  # what was imported just now is known to it
        cpu_target.target_context.refresh()
        return cpu_target.typing_context.resolve_value_type(getattr(intrinsics, self._name))


value_at: Any = Intrinsic("value_at")
word_at: Any = Intrinsic("word_at")
address_of: Any = Intrinsic("address_of")
call: Any = Intrinsic("call")
trailing_zeros: Any = Intrinsic("trailing_zeros")


def called(address: int) -> Callable[[int, int, int, int], int]:
    """An entry as Python calls it: with the address of a table and three numbers."""
    entry = _CALLED(address)

    def call(table: int, a: int, b: int, c: int) -> int:
        result, error = ctypes.c_int64(), ctypes.c_void_p()
        status = entry(ctypes.addressof(result), ctypes.addressof(error), None, table, a, b, c)
        if status:
            raise native.raised(status, error.value)
        return result.value

    return call
