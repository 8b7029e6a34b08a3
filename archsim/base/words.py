"""Values as compiled code takes them: what kind each is, and the words that it is.

A function takes an array as Numba lays it out: its owner (none), size, width of an item, address, shape and strides;
of a tuple what its parts are; of a number itself. The kinds of two values are the same text only where Numba takes them
for the same type.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from weakref import ref

import numpy as np

_MOST_KNOWN = 512  # arrays
_IN_ROWS, _IN_COLUMNS, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400  # NumPy's flags
_NARROW = (bool, np.bool_, np.int32)  # narrower than words where they lie beside one another
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_known: dict[int, tuple[ref[Any], str, tuple[int, ...]]] = {}  # arrays by their id, with kind and words


class UnknownKindError(TypeError):
    """A value is of no kind that has words here."""


class WordTable:
    """A value, a NamedTuple of arrays and whole numbers, as words in memory where entries find it.

    An entry that is called with one takes the value, and one word instead of hundreds is handed over: worth it where
    the same arrays are handed over again and again. ``address``: of its words, for good; ``kind``: a text as of all
    kinds.
    """

    def __init__(self, value: Any) -> None:
        words, self.kind = _laid_out(value)
        self._words = np.array(words, np.int64)
        self.address = int(self._words.ctypes.data)
        self.value = value

    def write(self, value: Any) -> None:
        """Other arrays stand in the place of those so far, of the same types."""
        words, kind = _laid_out(value)
        if kind != self.kind:
            raise TypeError(f"compiled code reads these words as {self.kind}, not as {kind}")
        self._words[:] = words
        self.value = value

    def entry(self, found: Any) -> int:
        """The address of an entry for such a table; it is compiled if need be."""
        return int(found.address(self.value))


def _laid_out(value: Any) -> tuple[list[int], str]:
    """The words of a value as they lie in memory, and its kind as a table."""
    kinds, words = _of_one(value)
    return in_memory(words), f"at({text_of(kinds)})"


def many_words(value: Any) -> int:
    """How many words a value is."""
    return len(_of_one(value)[1])


def _of_one(value: Any) -> tuple[list[Any], list[Any]]:
    kinds: list[Any] = []
    words: list[Any] = []
    described((value,), kinds, words)
    return kinds, words


def taken(values: Iterable[Any]) -> list[Any]:
    """What entries take where they are called with such values: those of tables."""
    return [each.value if isinstance(each, WordTable) else each for each in values]


def described(values: Iterable[Any], kinds: list[Any], words: list[Any]) -> None:
    """Append the kinds of values, texts and classes, and their words: whole numbers, and fractions as such.

    Raises UnknownKindError.
    """
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            text, found = _of_array(value)
            kinds.append(text)
            words += found
        elif isinstance(value, tuple):
            if any(type(part) in _NARROW for part in value):
                raise UnknownKindError(f"{kind}: a tuple with flags or short numbers, which do not lie in words")
            kinds += (kind, len(value))
            described(value, kinds, words)
        elif kind is int and _LEAST <= value <= _MOST:
            kinds.append(int)
            words.append(value)
        elif kind in (bool, np.bool_, np.int64, np.int32):
            kinds.append(kind)
            words.append(int(value))
        elif kind in (float, np.float64):
            kinds.append(float)
            words.append(float(value))
        elif kind is WordTable:
            kinds.append(value.kind)
            words.append(value.address)
        else:
            raise UnknownKindError(f"{kind}")


def text_of(kinds: Iterable[Any]) -> str:
    """Kinds as a text that tells them in every process."""
    return " ".join(
        [f"{each.__module__}.{each.__qualname__}" if isinstance(each, type) else f"{each}" for each in kinds]
    )


def in_memory(words: Iterable[Any]) -> list[int]:
    """Words as they lie in memory: fractions by their bits."""
    return [struct.unpack("q", struct.pack("d", word))[0] if isinstance(word, float) else word for word in words]


@lru_cache(maxsize=_MOST_KNOWN)
def _dtype_text(dtype: Any) -> str:
    return f"{dtype.descr if dtype.names else dtype.str}"


def _of_array(array: Any) -> tuple[str, tuple[int, ...]]:
    known = _known.get(id(array))
    if known is not None and known[0]() is array:
        return known[1], known[2]
    flags = array.flags.num
    kind = f"{_layout_text(flags)}{array.ndim}{_dtype_text(array.dtype)}"
    words = (0, 0, array.size, array.itemsize, _address(array, flags), *array.shape, *array.strides)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[id(array)] = ref(array), kind, words
    return kind, words


@lru_cache(maxsize=_MOST_KNOWN)
def _layout_text(flags: int) -> str:
    """What NumPy's flags say of where items lie: in rows, in columns or any; read alone; not aligned."""
    layout = "C" if flags & _IN_ROWS else "F" if flags & _IN_COLUMNS else "A"
    return f"{layout}{'' if flags & _WRITEABLE else 'r'}{'' if flags & _ALIGNED else 'u'}"


def _address(array: Any, flags: int) -> int:
    """Where the first item lies; of most arrays in a third of the time that NumPy takes to say it."""
    if flags & _IN_ROWS and flags & _WRITEABLE and array.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return int(array.ctypes.data)
