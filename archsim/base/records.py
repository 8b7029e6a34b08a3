"""Records of the arrays that compiled code works on, declared once for type checker and compiler."""

from __future__ import annotations

from typing import get_args, get_type_hints

import numpy as np


def record(layout: type) -> np.dtype[np.void]:
    """The record type of a class of integers and arrays of them: 64 bits unless annotated (type, shape)."""
    hints = get_type_hints(layout, include_extras=True)
    return np.dtype([(name, *(get_args(kind)[1:] or (np.int64, ()))) for name, kind in hints.items()], align=True)
