"""Types of NumPy arrays that are used everywhere, and whole numbers in as few bytes as they need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_NARROW = tuple((np.iinfo(kind), kind) for kind in (np.int8, np.int16, np.int32))


def narrow(values: AnyArray) -> AnyArray:
    """Whole numbers of 64 bits in the narrowest type that holds all of them, same shape; a copy."""
    low, high = values.min(initial=0), values.max(initial=0)
    for limits, kind in _NARROW:
        if limits.min <= low and high <= limits.max:
            return values.astype(kind)
    return values.astype(np.int64)
