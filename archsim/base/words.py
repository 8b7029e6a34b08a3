"""Values as compiled code takes them: what kind each is, and the words that it is.

A function takes an array as Numba lays it out: its owner (none), size, width of an item, address, shape and strides;
of a tuple what its parts are; of a number itself. The kinds of two values are the same text only where Numba takes them
for the same type.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from weakref import ref

import numpy as np

_MOST_KNOWN = 512  # arrays
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_known: dict[int, tuple[ref[Any], str, tuple[int, ...]]] = {}  # arrays by their id, with kind and words


class UnknownKindError(TypeError):
    """A value is of no kind that has words here."""


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
    flags = array.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    dtype = _dtype_text(array.dtype)
    kind = f"{layout}{array.ndim}{'' if flags.writeable else 'r'}{'' if flags.aligned else 'u'}{dtype}"
    words = (0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[id(array)] = ref(array), kind, words
    return kind, words
