"""Compiled entries by their addresses, and what they work on as words in memory.

The event machine calls models, DRAMs and networks, of which a chip has some and most commands none, without being
compiled with any of them: it knows an entry's address, and that of a table of words from which the entry reads where
its arrays lie. ``int64 entry(void *, int64 table, int64 a, int64 b, int64 c)`` is what all of them are; the first
argument is the type of the table for the compiler, and nothing when it runs.

What is relied on of Numba: how it lays out arrays and tuples (``_words``), which are words of 64 bits throughout.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_WORD, _NOTHING = ir.IntType(64), ir.IntType(8).as_pointer()
_ENTRY = ir.FunctionType(_WORD, [_NOTHING, *[_WORD] * 4])
_CALLED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 4)


def _value_at(_: Any, kind: Any, address: Any) -> Any:
    """The value of a type that lies at an address, for compiled code."""

    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        model = context.data_model_manager[signature.return_type]
        place = builder.inttoptr(arguments[1], model.get_data_type().as_pointer())
        return model.load_from_data_pointer(builder, place)

    return kind.instance_type(kind, address), make


value_at: Any = intrinsic(_value_at)


def _word_at(_: Any, address: Any) -> Any:
    """The word at an address, for compiled code."""

    def make(__: Any, builder: Any, ___: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()))

    return types.int64(types.int64), make


word_at: Any = intrinsic(_word_at)


def _address_of(_: Any, array: Any, place: Any) -> Any:
    """Where word ``place`` of an array of words lies, for compiled code."""

    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(builder.gep(found, [arguments[1]]), _WORD)

    return types.int64(array, types.int64), make


address_of: Any = intrinsic(_address_of)


def _call(_: Any, address: Any, table: Any, a: Any, b: Any, c: Any) -> Any:
    """Call the entry at an address, from compiled code."""

    def make(__: Any, builder: Any, ___: Any, arguments: Any) -> Any:
        entry = builder.inttoptr(arguments[0], _ENTRY.as_pointer())
        return builder.call(entry, [_NOTHING(None), *arguments[1:]])

    return types.int64(*[types.int64] * 5), make


call: Any = intrinsic(_call)


class WordTable:
    """A value, a NamedTuple of arrays and whole numbers, as entries find it. ``address``: of its words, for good."""

    def __init__(self, value: Any) -> None:
        self._words = np.array(_words(value), np.int64)
        self.address = int(self._words.ctypes.data)
        self._kind = _kind(value)
        self.value = value

    def write(self, value: Any) -> None:
        """Other arrays stand in the place of those so far, of the same types."""
        self._words[:] = _words(value)
        self.value = value

    def entry(self, found: Any) -> int:
        """The address of an entry for such a table; it is compiled if need be."""
        return int(found.address(types.TypeRef(self._kind), *[types.int64] * 4))


_KINDS: dict[Any, Any] = {}  # by layout: Numba looks at each field of each record anew


def _kind(value: Any) -> Any:
    """Numba's type of a value."""
    layout = _layout(value)
    if layout not in _KINDS:
        _KINDS[layout] = numba.typeof(value)  # type: ignore[no-untyped-call]
    return _KINDS[layout]


def _layout(value: Any) -> Any:
    """All that its type follows from."""
    if isinstance(value, tuple):
        return type(value), *map(_layout, value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.c_contiguous, value.flags.writeable
    return type(value)


def called(address: int) -> Callable[[int, int, int, int], int]:
    """An entry as Python calls it: with the address of a table and three numbers."""
    entry = _CALLED(address)
    return lambda table, a, b, c: entry(None, table, a, b, c)


def _words(value: Any) -> list[int]:
    """As Numba lays it out: an array with its owner (none), size, width of an item, address, shape and strides."""
    if isinstance(value, tuple):
        return [word for part in value for word in _words(part)]
    if isinstance(value, np.ndarray):
        return [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
    return [struct.unpack("q", struct.pack("d", value))[0] if isinstance(value, float) else int(value)]
