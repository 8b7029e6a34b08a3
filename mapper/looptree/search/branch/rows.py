"""Rows of arrays in compiled code, element by element: Numba's own assignments of slices take seconds to compile."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.jit import allocating, inlined


@inlined
def put(row: Any, values: Any) -> None:
    """Copy as many values as a row has."""
    for i in range(row.size):
        row[i] = values[i]


@inlined
def put_pair(rows: Any, values: Any) -> None:
    """Copy rows of (2, N)."""
    for i in range(rows.shape[1]):
        rows[0, i], rows[1, i] = values[0, i], values[1, i]


@allocating
def doubled(rows: Any) -> Any:
    """(2 N, columns) with the N rows first."""
    found = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    for i in range(rows.shape[0]):
        put(found[i], rows[i])
    return found
