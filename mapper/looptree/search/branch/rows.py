"""Rows of arrays in compiled code, element by element: Numba's own assignments of slices take seconds to compile."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit


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


@inlined
def fill(row: Any, value: Any) -> None:
    """Give all of a row one value."""
    for i in range(row.size):
        row[i] = value


@njit
def sort_by(keys: Any, order: Any, spare: Any) -> None:
    """Sort numbers ``order`` by the key of each, equal ones as they come; ``spare``: as many, written over."""
    width = 1
    while width < order.size:
        for start in range(0, order.size, 2 * width):
            _merge(keys, order, spare, start, min(start + width, order.size), min(start + 2 * width, order.size))
        put(order, spare)
        width *= 2


@inlined
def _merge(keys: Any, order: Any, merged: Any, start: int, middle: int, end: int) -> None:
    """Two sorted runs as one."""
    left, right = start, middle
    for i in range(start, end):
        if left < middle and (right == end or keys[order[left]] <= keys[order[right]]):
            merged[i] = order[left]
            left += 1
        else:
            merged[i] = order[right]
            right += 1
